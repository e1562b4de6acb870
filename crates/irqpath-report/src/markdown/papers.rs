// SPDX-License-Identifier: GPL-2.0-or-later
//! The papers whose experiments the lab repeats, by the numbers that experiments give them.

use irqpath_model::Reproduced;

/// A paper, or the experiments that come from none.
pub(super) struct Paper {
    pub number: &'static str,
    /// Authors and year, as a heading.
    pub name: &'static str,
    pub title: &'static str,
    pub picture: Option<Figure>,
}

/// The figures of one experiment that a picture of the paper shows.
pub(super) struct Figure {
    pub experiment: &'static str,
    pub shown: Shown,
    pub caption: &'static str,
    /// Name of the file, without its ending.
    pub file: &'static str,
}

pub(super) enum Shown {
    /// Quantiles of this interval, one row for each series and kernel.
    Interval(&'static str),
    /// The outcomes of the claim with these words.
    Claim(&'static str),
}

/// In the order of the page.
const ALL: [Paper; 6] = [
    Paper {
        number: "000",
        name: "Lee and Park (2010)",
        title: "Interrupt Handler Migration and Direct Interrupt Scheduling for Rapid Scheduling of \
                Interrupt-driven Tasks",
        picture: Some(Figure {
            experiment: "ihm-migrate",
            shown: Shown::Interval("user"),
            caption: "From a device's raise to the task in user space, instructions",
            file: "lee-park",
        }),
    },
    Paper {
        number: "001",
        name: "Gerhorst (2018)",
        title: "Analysis of Interrupt Handling Overhead in the Linux Kernel",
        picture: Some(Figure {
            experiment: "intspect-baseline",
            shown: Shown::Interval(""),
            caption: "From the top half to the bottom half, instructions",
            file: "gerhorst",
        }),
    },
    Paper {
        number: "002",
        name: "Brosky and Rotolo (2003)",
        title: "Shielded Processors: Guaranteeing Sub-millisecond Response in Standard Linux",
        picture: Some(Figure {
            experiment: "shield-instructions",
            shown: Shown::Claim("Jitter, percent of the ideal"),
            caption: "Jitter of a loop, percent of the ideal",
            file: "brosky-rotolo",
        }),
    },
    Paper {
        number: "003",
        name: "Packets at the priority of their receiver",
        title: "A paper on Linux 2.6 that couples interrupt scheduling with the priority of the \
                receiving process; our copy names neither title nor authors",
        picture: Some(Figure {
            experiment: "netprio-exec",
            shown: Shown::Interval("job"),
            caption: "A job beside packets for another task, instructions",
            file: "receiver-priority",
        }),
    },
    Paper {
        number: "004",
        name: "Jeong et al.",
        title: "Transparent and Selective Real-Time Interrupt Services for Performance Improvement",
        picture: Some(Figure {
            experiment: "selective-latency",
            shown: Shown::Interval("user"),
            caption: "From a device's raise to the task in user space under load, instructions",
            file: "jeong",
        }),
    },
    Paper {
        number: "irqpath",
        name: "Experiments of irqpath's own",
        title: "No paper measured these",
        picture: None,
    },
];

/// A paper that the list lacks.
const UNKNOWN: Paper =
    Paper { number: "", name: "Another paper", title: "It has no entry here yet", picture: None };

/// Whether the list has a paper with this number, or it is `irqpath`: no paper.
pub fn is_listed(number: &str) -> bool {
    ALL.iter().any(|paper| paper.number == number)
}

/// The paper of an experiment.
pub(super) fn paper_of(experiment: &Reproduced) -> &'static Paper {
    ALL.iter().find(|paper| paper.number == experiment.document).unwrap_or(&UNKNOWN)
}

/// The papers that these experiments are from, with their experiments.
pub(super) fn by_paper(experiments: &[Reproduced]) -> Vec<(&'static Paper, Vec<&Reproduced>)> {
    let all = ALL.iter().chain([&UNKNOWN]);
    let of = |paper: &'static Paper| {
        let is_of = |experiment: &&Reproduced| paper_of(experiment).number == paper.number;
        (paper, experiments.iter().filter(is_of).collect::<Vec<_>>())
    };
    all.map(of).filter(|(_, of)| !of.is_empty()).collect()
}

/// The place of an experiment in its paper: `document 000, 6.1` has the section behind the number.
pub(super) fn paper_section(experiment: &Reproduced) -> &str {
    let number = format!("document {}, ", experiment.document);
    experiment.source.strip_prefix(&number).unwrap_or(&experiment.source)
}
