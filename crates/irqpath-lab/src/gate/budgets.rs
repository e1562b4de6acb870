// SPDX-License-Identifier: GPL-2.0-or-later
//! `lab/budgets.toml`: read, looked up, replaced.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use irqpath_files::input;
use irqpath_files::output::{OutputError, StagedFile};
use serde::{Deserialize, Serialize};

use crate::flame::FunctionTable;

/// What the file says at its top.
const HEAD: &str = "\
# SPDX-License-Identifier: GPL-2.0-or-later
# Path lengths in instructions, and the cache lines that their code lies in; written by
# `irqpath lab gate --bless`, compared by `irqpath lab gate`.
# `functions` is where the median path of the experiment's flame graph spends them.

";

/// Of the file; it has a tenth of that.
const MAX_BUDGETS: u64 = 4 << 20;

/// Every budget: experiment, variant, figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Budgets(pub BTreeMap<String, BTreeMap<String, VariantBudget>>);

/// Figures of one variant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantBudget {
    /// Version of the kernel's package.
    pub kernel: String,
    /// SHA-256 of its image, hex.
    pub image_sha256: String,
    /// Instructions at the last blessing, by metric.
    pub metrics: BTreeMap<String, u64>,
    /// Each function's own instructions on the median path of the first series that is drawn;
    /// empty if none is.
    #[serde(default)]
    pub functions: FunctionTable,
}

/// What a run measured of one variant: the same, and whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub experiment: String,
    pub variant: String,
    /// Growth that passes, percent.
    pub allowance_percent: f64,
    pub figures: VariantBudget,
    /// Metrics that the experiment wants watched here and that were not measured.
    pub missing: Vec<String>,
    /// The series that [`VariantBudget::functions`] is of.
    pub drawn: Option<String>,
}

/// Why the gate could not compare.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The budgets cannot be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The budgets cannot be written where they are.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The budgets are not what the gate writes.
    #[error("{path}: {what}; restore it, or write it again with `irqpath lab gate --bless`", path = .path.display())]
    Malformed { path: PathBuf, what: String },
}

impl Budgets {
    /// Reads the file; one that does not exist has no budgets.
    pub fn read(path: &Path) -> Result<Self, GateError> {
        let text = match input::read_text(path, MAX_BUDGETS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(|source| GateError::Io { path: path.to_owned(), source })?,
        };
        toml::from_str(&text).map_err(|error| GateError::Malformed {
            path: path.to_owned(),
            what: error.to_string().replace('\n', " "),
        })
    }

    /// Writes all budgets over those of the file.
    pub fn write(&self, path: &Path) -> Result<(), GateError> {
        let text = toml::to_string(self).map_err(|error| GateError::Malformed {
            path: path.to_owned(),
            what: error.to_string(),
        })?;
        let (staged, mut file) = StagedFile::create(path)?;
        write!(file, "{HEAD}{text}")
            .map_err(|source| GateError::Io { path: path.to_owned(), source })?;
        staged.commit()?;
        Ok(())
    }

    /// The budget of a variant.
    pub fn find_budget(&self, experiment: &str, variant: &str) -> Option<&VariantBudget> {
        self.0.get(experiment)?.get(variant)
    }

    /// Takes what was measured as the new budget.
    pub fn bless(&mut self, measured: &Measured) {
        let variants = self.0.entry(measured.experiment.clone()).or_default();
        variants.insert(measured.variant.clone(), measured.figures.clone());
    }
}
