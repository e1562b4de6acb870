// SPDX-License-Identifier: GPL-2.0-or-later
//! One look at a shield that is set: what ended gives its CPUs back, and what drifted is set again.

use irqpath_model::shield::Set;

use super::detach::{Detached, detach_ended};
use super::set::set_again;
use super::{OWNER, ShieldError};
use crate::Host;
use crate::change::Access;
use crate::journal::{Journal, exists};

/// Make what drifted right again; `None` if there is no shield. `is_stopped` as for [`set`].
pub fn repair(
    host: &Host,
    access: &dyn Access,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Set>, ShieldError> {
    if !exists(host, OWNER) {
        return Ok(None);
    }
    match detach_ended(host, access, is_stopped) {
        Ok(Some(Detached::Rest(set))) => return Ok(Some(*set)),
        // Or somebody else did.
        Ok(Some(Detached::Nothing(_))) | Err(ShieldError::NotSet) => return Ok(None),
        Err(ShieldError::Journal(error)) => return Err(error.into()),
        // What ended keeps its CPUs if it cannot give them back now.
        Ok(None) | Err(_) => {}
    }
    set_again(host, access, Journal::open(host, OWNER)?, is_stopped)
}
