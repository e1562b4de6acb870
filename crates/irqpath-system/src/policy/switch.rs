// SPDX-License-Identifier: GPL-2.0-or-later
//! Switches policies. Names are checked before the first write; values are for the kernel to check.

use irqpath_model::policy::KernelPolicy;
use rustix::io::Errno;

use super::state::SWITCH;
use super::{PolicyError, ROOT, read_policies};
use crate::Host;
use crate::change::Access;

/// Stands for every policy when they are switched off.
pub const ALL: &str = "all";

/// A file of a policy and its new value.
struct Write {
    file: String,
    value: String,
}

/// Writes the settings, then switches the policies on, so that they start with these. Returns their
/// new state.
pub fn enable(
    host: &Host,
    access: &dyn Access,
    names: &[String],
    settings: &[(String, String)],
) -> Result<Vec<KernelPolicy>, PolicyError> {
    let asked = pick_policies(read_policies(host)?, names)?;
    let mut writes = Vec::new();
    for (name, value) in settings {
        let file = format!("{}/{name}", setting_owner(&asked, name)?);
        writes.push(Write { file, value: value.clone() });
    }
    writes.extend(asked.iter().map(|policy| switch_write(policy, "1")));
    write(access, &writes)?;
    pick_policies(read_policies(host)?, names)
}

/// Switch policies off, [`ALL`] of them or those named. Returns how they are then.
pub fn disable(
    host: &Host,
    access: &dyn Access,
    names: &[String],
) -> Result<Vec<KernelPolicy>, PolicyError> {
    let all = names.iter().any(|name| name == ALL);
    let asked = |known| if all { Ok(known) } else { pick_policies(known, names) };
    let writes: Vec<Write> =
        asked(read_policies(host)?)?.iter().map(|policy| switch_write(policy, "0")).collect();
    write(access, &writes)?;
    asked(read_policies(host)?)
}

/// Those with these names; each once.
fn pick_policies(
    mut policies: Vec<KernelPolicy>,
    names: &[String],
) -> Result<Vec<KernelPolicy>, PolicyError> {
    if let Some(name) = names.iter().find(|name| !policies.iter().any(|p| p.name == **name)) {
        let known = policies.into_iter().map(|p| p.name).collect();
        return Err(PolicyError::Unknown { name: name.clone(), known });
    }
    policies.retain(|policy| names.contains(&policy.name));
    Ok(policies)
}

/// The name of the policy that has this setting.
fn setting_owner<'a>(asked: &'a [KernelPolicy], setting: &str) -> Result<&'a str, PolicyError> {
    let name = setting.to_owned();
    let owners: Vec<_> = asked.iter().filter(|p| p.settings.contains_key(setting)).collect();
    match owners[..] {
        [one] => Ok(&one.name),
        [] => Err(PolicyError::UnknownSetting {
            name,
            policies: asked.iter().map(|p| p.name.clone()).collect(),
            known: asked.iter().flat_map(|p| p.settings.keys().cloned()).collect(),
        }),
        ref several => {
            let policies = several.iter().map(|p| p.name.clone()).collect();
            Err(PolicyError::AmbiguousSetting { name, policies })
        }
    }
}

fn switch_write(policy: &KernelPolicy, value: &str) -> Write {
    Write { file: format!("{}/{SWITCH}", policy.name), value: value.to_owned() }
}

fn write(access: &dyn Access, writes: &[Write]) -> Result<(), PolicyError> {
    for (nr_done, Write { file, value }) in writes.iter().enumerate() {
        let path = format!("{ROOT}/{file}");
        // With a line's end, because an empty value, as of a list, would not reach the kernel.
        let Err(source) = access.write(&path, &format!("{value}\n")) else { continue };
        if Errno::from_io_error(&source) == Some(Errno::ACCESS) {
            return Err(PolicyError::Forbidden { path });
        }
        let done = writes[..nr_done].iter().map(|w| format!("{}={}", w.file, w.value)).collect();
        return Err(PolicyError::Refused { path, value: value.clone(), source, done });
    }
    Ok(())
}
