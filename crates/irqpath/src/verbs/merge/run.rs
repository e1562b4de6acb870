// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath merge DIR... -o OUT`: plan, write, and tell what was left out.

use std::process::ExitCode;

use anyhow::{anyhow, bail, ensure};
use irqpath_files::output::{OutputError, StagedDir};
use irqpath_model::merge::Campaign;
use irqpath_report::json::write_pretty;
use irqpath_report::parquet::is_guarded;
use irqpath_report::text::merge::render_campaign;

use super::args::Merge;
use super::plan::plan_merge;
use super::write::Partition;
use crate::host::signals::{self, Stop};
use crate::output::files::fill_file;
use crate::output::progress::Progress;
use crate::output::{console, exit};

pub fn run(arguments: &Merge) -> anyhow::Result<ExitCode> {
    let stop = signals::listen()?;
    hide_guarded_panics();
    let staged = StagedDir::create(&arguments.output, false, |_| false);
    let staged = staged.map_err(|error| match error {
        OutputError::Exists(path) => {
            anyhow!(
                "{} exists, and a campaign replaces nothing; choose another name",
                path.display()
            )
        }
        error => error.into(),
    })?;
    let campaign = write_campaign(arguments, &staged, &stop)?;
    let path = staged.commit()?;
    if arguments.json {
        console::print_json(&campaign, false)?;
    } else {
        console::print_page(&render_campaign(&campaign))?;
        console::print_written(&path)?;
    }
    let code = if campaign.is_incomplete() { exit::EXCEEDED } else { 0 };
    Ok(ExitCode::from(code))
}

fn write_campaign(arguments: &Merge, staged: &StagedDir, stop: &Stop) -> anyhow::Result<Campaign> {
    let directories = &arguments.directories;
    let mut campaign = Campaign {
        schema_version: Campaign::FORMAT,
        nr_given: directories.len() as u64,
        ..Campaign::default()
    };
    let progress = Progress::start("merging", None);
    let tick = || {
        progress.tick();
        ensure!(!stop.is_requested(), "given up at a signal, nothing was kept");
        Ok(())
    };
    let partitions = plan_merge(directories, &mut campaign, tick)?;
    if partitions.is_empty() {
        let first = campaign.left_out.first().map_or("", |left| &left.message);
        bail!("none of {} directories can be merged; the first: {first}", directories.len());
    }
    for ((commit, kernel), planned) in partitions {
        let mut partition = Partition::new(staged, &commit, &kernel);
        for one in &planned {
            tick()?;
            partition.add_result(&directories[one.index], one)?;
        }
        campaign.nr_runs += planned.len() as u64;
        partition.finish(&mut campaign)?;
    }
    let path = staged.target().join("merge.json");
    fill_file(staged.create_file("merge.json")?, &path, |file| write_pretty(file, &campaign))?;
    Ok(campaign)
}

/// A damaged table makes the library panic; that is told as damage, in one line.
fn hide_guarded_panics() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_guarded() {
            hook(info);
        }
    }));
}
