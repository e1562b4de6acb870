// SPDX-License-Identifier: GPL-2.0-or-later
//! The text of `irqpath merge`.

use irqpath_model::merge::{Campaign, LeftOutWhy};

use super::Page;

/// Lines for results that were left out; --json has more.
const MAX_SHOWN: usize = 20;

/// What became of the results, and why some are not in the campaign.
pub fn render_campaign(campaign: &Campaign) -> Page {
    let mut page = Page::default();
    let nr = |why| campaign.nr_left_out.get(&why).copied().unwrap_or(0);
    page.add_line(format_args!(
        "merged {} of {} results, {} partitions",
        campaign.nr_runs, campaign.nr_given, campaign.nr_partitions
    ));
    for (table, nr_rows) in &campaign.nr_rows {
        page.add_line(format_args!("  {table:<12}{nr_rows:>12} rows"));
    }
    page.add_line(format_args!(
        "left out: {} duplicates, {} in contradiction, {} unreadable",
        nr(LeftOutWhy::Duplicate),
        nr(LeftOutWhy::Contradiction),
        nr(LeftOutWhy::Unreadable)
    ));
    let shown: Vec<_> =
        campaign.left_out.iter().filter(|left| left.why != LeftOutWhy::Duplicate).collect();
    page.add_list("not in the campaign", &shown, MAX_SHOWN, |left| left.message.clone());
    page
}
