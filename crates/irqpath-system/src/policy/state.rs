// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kernel's policies are and have done.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use irqpath_model::policy::KernelPolicy;

use super::{PolicyError, ROOT, require_policies};
use crate::{Host, SystemError};

/// The file that makes a directory a policy.
pub(super) const SWITCH: &str = "enabled";

/// All policies, by name. Needs no privilege.
pub fn read_policies(host: &Host) -> Result<Vec<KernelPolicy>, PolicyError> {
    require_policies(host)?;
    let names = host.names_in(ROOT).into_iter();
    let names = names.filter(|name| host.path(format!("{ROOT}/{name}/{SWITCH}")).exists());
    names.map(|name| read(host, name)).collect()
}

fn read(host: &Host, name: String) -> Result<KernelPolicy, PolicyError> {
    let directory = format!("{ROOT}/{name}");
    let mut policy = KernelPolicy { name, ..KernelPolicy::default() };
    for file in host.names_in(&directory) {
        let path = format!("{directory}/{file}");
        let text = host.read(&path)?.trim().to_owned();
        if file == SWITCH {
            policy.enabled = match text.as_str() {
                "0" => false,
                "1" => true,
                _ => return Err(malformed_file(host, &path, &text, "0 or 1")),
            };
        } else if is_writable(&host.path(&path)) {
            policy.settings.insert(file, text);
        } else {
            let count = text.parse().map_err(|_| malformed_file(host, &path, &text, "a count"))?;
            policy.counters.insert(file, count);
        }
    }
    Ok(policy)
}

/// By its mode, which root's rights do not change.
fn is_writable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o222 != 0)
}

fn malformed_file(host: &Host, path: &str, text: &str, wanted: &str) -> PolicyError {
    let reason = format!("'{text}' is not {wanted}");
    SystemError::Malformed { path: host.path(path), line: 1, reason }.into()
}
