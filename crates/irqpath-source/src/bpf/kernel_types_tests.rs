// SPDX-License-Identifier: GPL-2.0-or-later
//! `bpf/kernel.h` is written by hand. Its records and fields are those of the running kernel.

#![allow(clippy::print_stdout)] // a test says what it skips

use libbpf_rs::Btf;
use libbpf_rs::btf::BtfType;
use libbpf_rs::btf::types::{Composite, Struct};

/// Fields that some kernels lack: the programs ask for them before they read them.
const MAY_BE_ABSENT: [&str; 3] =
    ["sched_entity.sched_delayed", "sched_entity.cfs_rq", "pt_regs.orig_ax"];

/// Only in kernels that can be KVM's guests, where the programs ask for it.
const RECORD_MAY_BE_ABSENT: &str = "kvm_steal_time";

/// The type of a field, also of an unnamed record inside.
fn field<'btf>(btf: &'btf Btf<'_>, record: &Composite<'btf>, name: &str) -> Option<BtfType<'btf>> {
    let members: Vec<_> = record.iter().map(|member| (member.name, member.ty)).collect();
    members.into_iter().find_map(|(found, ty)| {
        let found_type = btf.type_by_id::<BtfType<'_>>(ty)?.skip_mods_and_typedefs();
        match found {
            Some(found) => (found == name).then_some(found_type),
            None => field(btf, &found_type.try_into().ok()?, name),
        }
    })
}

#[test]
fn every_field_is_one_of_the_kernel() {
    let Ok(kernel) = Btf::from_vmlinux() else {
        println!("skipped: every_field_is_one_of_the_kernel: this kernel has no BTF");
        return;
    };
    let ours = Btf::from_path(concat!(env!("OUT_DIR"), "/irqpath.bpf.o")).unwrap();
    let mut nr_found = 0;
    for record in ours.type_by_kind::<Struct<'_>>() {
        let Some(name) = record.name().map(|name| name.to_string_lossy()) else { continue };
        // Records of the contract, and what libbpf calls flavours.
        if name.starts_with("ip_") || name.contains("___") || record.is_empty() {
            continue;
        }
        let theirs = kernel.type_by_name::<Struct<'_>>(&name);
        let Some(theirs) = theirs else {
            assert_eq!(name, RECORD_MAY_BE_ABSENT, "this kernel has no struct {name}");
            continue;
        };
        for member in record.iter() {
            let field_name = member.name.unwrap().to_string_lossy();
            let full_name = format!("{name}.{field_name}");
            let own = ours.type_by_id::<BtfType<'_>>(member.ty).unwrap().skip_mods_and_typedefs();
            match field(&kernel, &theirs.into(), &field_name) {
                Some(found) => assert!(own.is_core_compat(&found), "{full_name} is {found:?}"),
                None => assert!(MAY_BE_ABSENT.contains(&&*full_name), "no {full_name} here"),
            }
            nr_found += 1;
        }
    }
    assert!(nr_found > 20, "{nr_found}");
}
