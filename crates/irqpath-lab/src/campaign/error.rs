// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a campaign cannot go on: one line, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use irqpath_files::output::OutputError;
use irqpath_files::tree::TreeError;

#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    #[error("{0}, so results there prove nothing; give a directory that only you can write to")]
    Unsafe(TreeError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not a batch of a campaign: {source}", path.display())]
    Batch { path: PathBuf, source: serde_json::Error },
    #[error("batch {batch} has {nr} tasks, and no task {task}")]
    NoTask { batch: u32, task: usize, nr: usize },
    #[error("{0}")]
    Engine(String),
    #[error(
        "no worker is left: {0} gave wrong results; repair them, then remove their directories below units/"
    )]
    NoWorker(String),
    #[error(
        "this worker has another {differences} than the campaign; give it the same files and programs"
    )]
    Differs { differences: String },
}

impl CampaignError {
    pub fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
