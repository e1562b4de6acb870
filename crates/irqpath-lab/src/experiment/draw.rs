// SPDX-License-Identifier: GPL-2.0-or-later
//! Draws: the same variant at other phases of what is arbitrary in it.
//!
//! An exact guest repeats to the byte, and so it repeats one phase: where its tick falls in the work,
//! which pages its tasks get, how long after the boot it begins. A tail, or a loaded system, may owe
//! its figure to that. Draw 0 is the guest as it is; each other one waits before its job, so that the
//! job begins at another phase of the tick and of every period below it, and first takes some memory,
//! so that its pages are others. Scripts and guest programs find the number in `DRAW`.

use std::fmt::Write as _;

/// Where a guest's kernel parameters have the number of the draw.
const PARAMETER: &str = "irqpath.draw";
/// What each draw waits longer than the one before, us. Not commensurable with a tick of 4 ms or 1 ms
/// or with 500 us: some twenty draws are spread over each of them.
const PHASE_US: u32 = 3579;
/// Most pages that a draw takes before its job.
const MAX_PAGES: u32 = 61;

/// One of several guests of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// From 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Draw {
    /// Every draw of a variant.
    pub fn all(of: u32) -> impl Iterator<Item = Self> {
        (0..of).map(move |number| Self { number, of })
    }

    /// Behind a variant's name: empty for the first.
    pub fn describe(self) -> String {
        if self.number > 0 { format!(", draw {}", self.number) } else { String::new() }
    }

    /// What the guest's kernel is told; nothing if there is but one.
    pub(super) fn kernel_parameters(self) -> String {
        if self.of > 1 { format!("{PARAMETER}={}", self.number) } else { String::new() }
    }

    /// The beginning of the job where there are several. All of them have the same script, so that they
    /// share the archive that the guest boots from.
    pub(super) fn script(of: u32) -> String {
        let mut text = String::new();
        if of > 1 {
            let _ = write!(
                text,
                "DRAW=0\n\
                 for word in $(cat /proc/cmdline); do\n\
                 \x20 case $word in {PARAMETER}=*) DRAW=${{word#*=}} ;; esac\n\
                 done\n\
                 export DRAW\n\
                 if [ \"$DRAW\" != 0 ]; then\n\
                 \x20 dd if=/dev/zero of=/draw bs=4096 count=$((DRAW * 7 % {MAX_PAGES} + 1)) 2>/dev/null\n\
                 \x20 usleep $((DRAW * {PHASE_US}))\n\
                 fi\n"
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_draw_changes_nothing() {
        let only: Vec<Draw> = Draw::all(1).collect();
        assert_eq!(only, [Draw { number: 0, of: 1 }]);
        assert_eq!((only[0].kernel_parameters(), Draw::script(1)), (String::new(), String::new()));
        assert!(Draw::all(20).last().unwrap().kernel_parameters().ends_with("=19"));
    }

    /// No part of a period, a sixteenth of it wide, is without one of twenty draws.
    #[test]
    fn twenty_draws_are_spread_over_every_usual_period() {
        for period_us in [4000, 1000, 500] {
            let mut phases: Vec<u32> = (0..20).map(|k| k * PHASE_US % period_us).collect();
            phases.sort_unstable();
            phases.push(period_us);
            let widest = phases.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(widest <= period_us / 16, "{period_us}: {widest}");
        }
    }
}
