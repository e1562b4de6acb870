// SPDX-License-Identifier: GPL-2.0-or-later
//! A summary as any version of irqpath stored it.
//!
//! Version 1 had all lists beside each other and left the kind to be guessed from which of them
//! was not empty.

use serde::Deserialize;

use super::{Measured, Missing, Overhead, PathSummary, Paths, Summary};
use crate::{
    BenchSeries, Folded, Jitter, LineStats, Loss, NapiStats, Response, SlowPath, SoftirqStats,
};

/// The first version with a kind.
const WITH_KIND: u32 = 2;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Paths,
    Bench,
    Response,
    Jitter,
}

/// Every field that any version has.
#[derive(Deserialize)]
pub(super) struct StoredSummary {
    schema_version: u32,
    kind: Option<Kind>,
    paths: Option<Vec<PathSummary>>,
    lines: Option<Vec<LineStats>>,
    softirqs: Option<Vec<SoftirqStats>>,
    #[serde(default)]
    napi: Vec<NapiStats>,
    #[serde(default)]
    bench: Vec<BenchSeries>,
    #[serde(default)]
    response: Vec<Response>,
    #[serde(default)]
    jitter: Vec<Jitter>,
    slow: Option<Vec<SlowPath>>,
    #[serde(default)]
    nr_slow: u64,
    #[serde(default)]
    nr_slow_by_hypervisor: u64,
    threshold_ns: Option<u64>,
    #[serde(default)]
    folded: Folded,
    loss: Loss,
    overhead: Overhead,
    missing: Vec<Missing>,
}

impl StoredSummary {
    fn find_kind(&self) -> Result<Kind, &'static str> {
        let has_paths = self.paths.as_ref().is_some_and(|paths| !paths.is_empty());
        let lists =
            [has_paths, !self.bench.is_empty(), !self.response.is_empty(), !self.jitter.is_empty()];
        if lists.iter().filter(|is_there| **is_there).count() > 1 {
            return Err("it has results of more than one kind of measurement");
        }
        let guessed = match lists {
            [_, true, ..] => Kind::Bench,
            [_, _, true, _] => Kind::Response,
            [_, _, _, true] => Kind::Jitter,
            _ => Kind::Paths,
        };
        match (&self.kind, guessed) {
            (None, _) if self.schema_version >= WITH_KIND => Err("missing field `kind`"),
            (None, guessed) => Ok(guessed),
            (Some(Kind::Bench), Kind::Bench | Kind::Paths) if !has_paths => Ok(Kind::Bench),
            (Some(Kind::Response), Kind::Response | Kind::Paths) if !has_paths => {
                Ok(Kind::Response)
            }
            (Some(Kind::Jitter), Kind::Jitter | Kind::Paths) if !has_paths => Ok(Kind::Jitter),
            (Some(Kind::Paths), Kind::Paths) => Ok(Kind::Paths),
            _ => Err("its kind is not that of what it has"),
        }
    }
}

impl TryFrom<StoredSummary> for Summary {
    type Error = &'static str;

    fn try_from(stored: StoredSummary) -> Result<Self, &'static str> {
        let measured = match stored.find_kind()? {
            Kind::Bench => Measured::Bench { bench: stored.bench },
            Kind::Jitter => Measured::Jitter { jitter: stored.jitter },
            Kind::Response => Measured::Response {
                response: stored.response,
                slow: stored.slow.unwrap_or_default(),
            },
            Kind::Paths => Measured::Paths(Paths {
                paths: stored.paths.ok_or("missing field `paths`")?,
                lines: stored.lines.ok_or("missing field `lines`")?,
                softirqs: stored.softirqs.ok_or("missing field `softirqs`")?,
                napi: stored.napi,
                slow: stored.slow.ok_or("missing field `slow`")?,
                nr_slow: stored.nr_slow,
                nr_slow_by_hypervisor: stored.nr_slow_by_hypervisor,
                threshold_ns: stored.threshold_ns,
                folded: stored.folded,
            }),
        };
        Ok(Self {
            schema_version: stored.schema_version,
            measured,
            loss: stored.loss,
            overhead: stored.overhead,
            missing: stored.missing,
        })
    }
}
