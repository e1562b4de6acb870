// SPDX-License-Identifier: GPL-2.0-or-later
//! Gets the programs into the kernel: open, select, configure, load, attach.
//!
//! libbpf loads an object as a whole, and one that failed cannot be loaded again. A program that
//! this kernel refuses is therefore left out, and everything is opened anew without it. What a trace
//! then lacks is named ([`Selection::missing`]).

use std::mem::MaybeUninit;
use std::path::Path;

use irqpath_model::Missing;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Btf, Link};

use super::complaints::{self, load_error};
use super::selection::{Refusal, Selection};
use super::skel::{IrqpathSkel, IrqpathSkelBuilder, OpenIrqpathSkel};
use super::{configure_programs, features, steal};
use crate::{Config, SourceError};

pub const BTF_PATH: &str = "/sys/kernel/btf/vmlinux";
/// How many programs may be refused. With more, the reason is not in the programs.
const MAX_REFUSED: usize = 8;

/// The attached programs, and what is missing because the kernel refused some.
pub struct Loaded {
    pub skel: IrqpathSkel<'static>,
    /// In the order of attaching: what closes something first.
    pub links: Vec<Link>,
    pub missing: Vec<Missing>,
}

/// Load and attach as many programs as this kernel takes. `alter` changes the object before each
/// attempt; only tests have a use for it.
pub fn load_programs(
    config: &Config,
    alter: impl Fn(&mut OpenIrqpathSkel<'static>),
) -> Result<Loaded, SourceError> {
    if !Path::new(BTF_PATH).exists() {
        return Err(SourceError::NoBtf(BTF_PATH.into()));
    }
    let btf = Btf::from_vmlinux().map_err(load_error)?;
    if let Some(name) = features::missing_essential(&btf) {
        return Err(SourceError::MissingTracepoint(name));
    }
    let rq_to_stolen = steal::rq_to_stolen(&btf);
    let mut refused: Vec<Refusal> = Vec::new();
    loop {
        complaints::start_listening();
        // The skeleton borrows this for as long as it lives, which is as long as the process.
        let storage = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = IrqpathSkelBuilder::default().open(storage).map_err(load_error)?;
        alter(&mut open);
        let has = |tracepoint: &str| features::has_tracepoint(&btf, tracepoint);
        let selection = Selection::new(&list_tracepoints(&open), has, &refused, config.no_user);
        apply_selection(&mut open, &selection);
        configure_programs(&mut open, config, &selection, rq_to_stolen)?;
        let error = match open.load().and_then(attach_programs) {
            Ok((skel, links)) => return Ok(Loaded { skel, links, missing: selection.missing() }),
            Err(error) => error,
        };
        match complaints::last_refusal() {
            Some(one) if may_be_left_out(&one.tracepoint, &refused) => refused.push(one),
            _ => return Err(load_error(error)),
        }
    }
}

fn may_be_left_out(tracepoint: &str, refused: &[Refusal]) -> bool {
    let again = refused.iter().any(|r| r.tracepoint == tracepoint);
    !again && !features::is_essential(tracepoint) && refused.len() < MAX_REFUSED
}

/// The tracepoint of each program.
fn list_tracepoints(open: &OpenIrqpathSkel<'static>) -> Vec<String> {
    let sections = open.open_object().progs().map(|p| p.section().to_string_lossy().into_owned());
    sections.filter_map(|s| s.strip_prefix("tp_btf/").map(str::to_owned)).collect()
}

fn apply_selection(open: &mut OpenIrqpathSkel<'static>, selection: &Selection) {
    for mut prog in open.open_object_mut().progs_mut() {
        let section = prog.section().to_string_lossy().into_owned();
        if section.strip_prefix("tp_btf/").is_some_and(|t| selection.leaves_out(t)) {
            prog.set_autoload(false);
        }
    }
}

/// Attach the programs, see [`features::attach_order`].
fn attach_programs(
    mut skel: IrqpathSkel<'static>,
) -> libbpf_rs::Result<(IrqpathSkel<'static>, Vec<Link>)> {
    let mut links = Vec::new();
    for order in 0..=features::LAST_ATTACHED {
        for prog in skel.object_mut().progs_mut().filter(|p| p.autoload()) {
            let name = prog.name().to_string_lossy();
            if order == features::attach_order(&name) {
                let attached = prog.attach();
                links.push(attached.inspect_err(|error| complaints::note_failure(&name, error))?);
            }
        }
    }
    Ok((skel, links))
}
