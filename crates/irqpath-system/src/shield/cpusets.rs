// SPDX-License-Identifier: GPL-2.0-or-later
//! Files of cgroups with CPUs of their own, and steps that change them. `partition` and `attached`
//! put them together.

use irqpath_model::change::{Form, Target, Value};

use crate::change::{Access, PARTITION_DIRECTORY, Step};

pub(super) fn controller_target(directory: &str) -> Target {
    let form = Form::Controller("cpuset".to_owned());
    Target::File { path: format!("{directory}/cgroup.subtree_control"), form }
}

pub(super) fn make_step(target: Target, label: &str, new: Value) -> Step {
    Step { target, label: label.to_owned(), new, pin: false }
}

pub(super) fn file_target(directory: &str, name: &str, form: Form) -> Target {
    Target::File { path: format!("{directory}/{name}"), form }
}

/// True if somebody else has begun to use the controller that we switched on below `mount`.
pub(super) fn is_shared(access: &dyn Access, mount: &str) -> bool {
    let children = access.list_directories(mount);
    children.iter().filter(|name| *name != PARTITION_DIRECTORY).any(|name| {
        let text = |file: &str| access.read(&format!("{mount}/{name}/{file}")).unwrap_or_default();
        let has_own = |file: &&str| !text(file).trim().is_empty();
        ["cpuset.cpus", "cpuset.mems", "cpuset.cpus.exclusive"].iter().any(has_own)
            || text("cgroup.subtree_control").split_whitespace().any(|word| word == "cpuset")
    })
}
