// SPDX-License-Identifier: GPL-2.0-or-later
//! On which workers wanted units may run. Pure.
//!
//! A second opinion needs a worker that has not run the unit. Where the engine has none, the host
//! that drives the campaign is one; where that has spoken too, workers repeat themselves, which
//! shows a worker that does not give the same bytes twice.

use std::collections::{BTreeMap, BTreeSet};

use super::settle::{Wanted, Why};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Site {
    Engine,
    /// The host of the campaign itself.
    Arbiter,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Units that go to the same site and avoid the same workers.
    pub groups: BTreeMap<(Site, BTreeSet<String>), Vec<usize>>,
    /// Units that have a result and no second worker.
    pub unverifiable: BTreeSet<usize>,
    /// True if there is a unit that nobody may run.
    pub is_stuck: bool,
}

/// Workers of each site; those of the engine may be unknown.
#[derive(Debug, Clone, Copy)]
pub struct Sites<'a> {
    pub engine: &'a [String],
    pub arbiter: &'a [String],
}

pub fn place_wanted(
    wanted: impl IntoIterator<Item = Wanted>,
    wrong: &BTreeSet<String>,
    sites: Sites<'_>,
) -> Placed {
    let mut placed = Placed::default();
    let free =
        |workers: &[String], out: &BTreeSet<String>| workers.iter().any(|w| !out.contains(w));
    let engine = |out: &BTreeSet<String>| sites.engine.is_empty() || free(sites.engine, out);
    for Wanted { unit, why, exclude } in wanted {
        let place = if engine(&exclude) {
            (Site::Engine, exclude)
        } else if why != Why::First && free(sites.arbiter, &exclude) {
            (Site::Arbiter, exclude)
        } else if why == Why::Dispute && engine(wrong) {
            (Site::Engine, wrong.clone())
        } else if why == Why::Verify {
            placed.unverifiable.insert(unit);
            continue;
        } else {
            placed.is_stuck = true;
            continue;
        };
        placed.groups.entry(place).or_default().push(unit);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_opinion_comes_from_the_engine_then_from_here_then_from_the_same_again() {
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let set = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
        let table = [
            // Why, excluded, wrong, the engine's workers, the arbiter's; site and excluded.
            (Why::First, "", "", "a b", "here", Some((Site::Engine, ""))),
            (Why::First, "a", "a", "a b", "here", Some((Site::Engine, "a"))),
            (Why::First, "a b", "a b", "a b", "here", None),
            (Why::Verify, "a", "", "a b", "here", Some((Site::Engine, "a"))),
            (Why::Verify, "a", "", "a", "here", Some((Site::Arbiter, "a"))),
            (Why::Verify, "a", "", "a", "", None),
            (Why::Dispute, "a b", "", "a b c", "here", Some((Site::Engine, "a b"))),
            (Why::Dispute, "a b", "", "a b", "here", Some((Site::Arbiter, "a b"))),
            (Why::Dispute, "a b here", "", "a b", "here", Some((Site::Engine, ""))),
            (Why::Dispute, "a b c", "c", "a b c", "", Some((Site::Engine, "c"))),
            (Why::Dispute, "a b", "", "", "", Some((Site::Engine, "a b"))),
        ];
        for (why, exclude, wrong, engine, arbiter, expected) in table {
            let wanted = Wanted { unit: 3, why, exclude: set(exclude) };
            let (engine, arbiter) = (names(engine), names(arbiter));
            let sites = Sites { engine: &engine, arbiter: &arbiter };
            let placed = place_wanted([wanted], &set(wrong), sites);
            let place = placed.groups.keys().next().cloned();
            assert_eq!(place, expected.map(|(site, out)| (site, set(out))), "{why:?} {exclude}");
            assert_eq!(placed.is_stuck, why == Why::First && expected.is_none());
            assert_eq!(placed.unverifiable.is_empty(), why != Why::Verify || expected.is_some());
        }
    }
}
