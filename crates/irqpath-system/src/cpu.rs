// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU facts: model, governor, SMT, hypervisor, the latency that idle states are allowed.

use std::io::Read;

use irqpath_model::CpuInfo;

use crate::Host;

impl Host {
    /// The CPUs, for `meta.json`; what the host does not tell is empty.
    pub fn cpu_info(&self) -> CpuInfo {
        CpuInfo {
            model: self.cpu_model(),
            online: self.read_fact("sys/devices/system/cpu/online").unwrap_or_default(),
            governor: self.list_governors().into_iter().next().unwrap_or_default(),
            smt: self.read_fact("sys/devices/system/cpu/smt/active").is_some_and(|t| t == "1"),
            hypervisor: self.find_hypervisor(),
            cpu_dma_latency_us: self.cpu_dma_latency_us(),
        }
    }

    /// cpufreq governors, by CPU number.
    pub(crate) fn list_governors(&self) -> Vec<String> {
        let mut cpus: Vec<u16> = self
            .names_in("sys/devices/system/cpu")
            .iter()
            .filter_map(|name| name.strip_prefix("cpu")?.parse().ok())
            .collect();
        cpus.sort_unstable();
        cpus.into_iter()
            .filter_map(|cpu| {
                self.read_fact(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"))
            })
            .collect()
    }

    /// What `/proc/cpuinfo` calls the CPU; its fields differ by architecture.
    fn cpu_model(&self) -> String {
        let text = self.read_fact("proc/cpuinfo").unwrap_or_default();
        let named = ["model name", "Model", "Hardware", "uarch", "Processor"];
        let named = named.iter().find_map(|name| find_field(&text, name));
        let board = || self.read_fact("sys/firmware/devicetree/base/model");
        let part = || {
            let part = find_field(&text, "CPU part")?;
            Some(format!("implementer {} part {part}", find_field(&text, "CPU implementer")?))
        };
        named.map(str::to_owned).or_else(board).or_else(part).unwrap_or_default()
    }

    /// True if the CPU's flags contain `flag`.
    pub(crate) fn has_cpu_flag(&self, flag: &str) -> bool {
        let text = self.read_fact("proc/cpuinfo").unwrap_or_default();
        find_field(&text, "flags").is_some_and(|f| f.split_whitespace().any(|w| w == flag))
    }

    /// The hypervisor under this kernel. x86 has a CPU flag that tells reliably; elsewhere the
    /// firmware's own words have to do.
    fn find_hypervisor(&self) -> Option<String> {
        let named = self.hypervisor_name();
        if self.read_fact("proc/cpuinfo").is_some_and(|t| find_field(&t, "flags").is_some()) {
            return self
                .has_cpu_flag("hypervisor")
                .then(|| named.unwrap_or("unknown hypervisor").to_owned());
        }
        named.or_else(|| self.virtual_board()).map(str::to_owned)
    }

    /// A guest whose device tree names no hypervisor. Several monitors write the same board into it;
    /// only QEMU adds its configuration device.
    fn virtual_board(&self) -> Option<&'static str> {
        let tree = "proc/device-tree";
        let board = self.read_fact(&format!("{tree}/compatible"))?;
        if !board.contains("linux,dummy-virt") {
            return None;
        }
        let has_fw_cfg = self.names_in(tree).iter().any(|name| name.starts_with("fw-cfg@"));
        Some(if has_fw_cfg { "QEMU" } else { "unknown hypervisor" })
    }

    fn hypervisor_name(&self) -> Option<&'static str> {
        const KNOWN: [(&str, &str); 12] = [
            ("xen", "Xen"),
            ("vmware", "VMware"),
            ("innotek", "VirtualBox"),
            ("virtualbox", "VirtualBox"),
            ("parallels", "Parallels"),
            ("microsoft corporation virtual machine", "Hyper-V"),
            ("google compute engine", "KVM (Google)"),
            ("amazon ec2", "KVM (Amazon)"),
            ("kvm", "KVM"),
            ("qemu", "QEMU"),
            ("bhyve", "bhyve"),
            ("hyperv_clocksource", "Hyper-V"),
        ];
        let words: Vec<String> = [
            "sys/hypervisor/type",
            "sys/class/dmi/id/sys_vendor",
            "sys/class/dmi/id/product_name",
            "proc/device-tree/hypervisor/compatible",
            "sys/devices/system/clocksource/clocksource0/available_clocksource",
        ]
        .into_iter()
        .filter_map(|file| self.read_fact(file))
        .collect();
        let words = words.join(" ").to_lowercase();
        // The same vendor sells bare machines as `c5.metal`.
        let is_metal = words.contains(".metal");
        KNOWN.iter().find(|(w, _)| words.contains(w) && !is_metal).map(|&(_, name)| name)
    }

    /// The device gives four bytes in the machine's order. Opening it for reading asks for
    /// nothing, so the value stays as it is.
    fn cpu_dma_latency_us(&self) -> Option<i32> {
        let mut bytes = [0; 4];
        let file = self.open("dev/cpu_dma_latency");
        file.ok()?.read_exact(&mut bytes).ok()?;
        Some(i32::from_ne_bytes(bytes))
    }
}

/// The value of the first `name : value` line.
fn find_field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|l| l.split_once(':'));
    pairs.map(|(n, v)| (n.trim(), v.trim())).find_map(|(n, v)| (n == name).then_some(v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    const X86: &str = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Xeon 8375C @ 2.90GHz\nflags\t\t: fpu tsc hypervisor\n";
    const PI: &str =
        "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n\nModel\t\t: Raspberry Pi 5\n";
    const ARM: &str = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";

    #[test]
    fn models_by_architecture() {
        for (cpuinfo, want) in [
            (X86, "Xeon 8375C @ 2.90GHz"),
            (PI, "Raspberry Pi 5"),
            (ARM, "implementer 0x41 part 0xd0c"),
            ("", ""),
        ] {
            let fake = Fake::new().with_file("proc/cpuinfo", cpuinfo);
            assert_eq!(fake.host().cpu_info().model, want);
        }
    }

    #[test]
    fn hypervisors() {
        let bare = X86.replace(" hypervisor", "");
        for (cpuinfo, file, text, want) in [
            (X86, "sys/class/dmi/id/sys_vendor", "QEMU\n", Some("QEMU")),
            (X86, "sys/hypervisor/type", "xen\n", Some("Xen")),
            (
                X86,
                "sys/devices/system/clocksource/clocksource0/available_clocksource",
                "tsc kvm-clock \n",
                Some("KVM"),
            ),
            (X86, "sys/class/dmi/id/sys_vendor", "Somebody\n", Some("unknown hypervisor")),
            (&bare, "sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n", None),
            (
                &bare,
                "sys/devices/system/clocksource/clocksource0/available_clocksource",
                "tsc hpet\n",
                None,
            ),
            (ARM, "proc/device-tree/hypervisor/compatible", "linux,kvm\0", Some("KVM")),
            (ARM, "sys/class/dmi/id/product_name", "c6g.metal\n", None),
        ] {
            let fake = Fake::new().with_file("proc/cpuinfo", cpuinfo).with_file(file, text);
            assert_eq!(fake.host().cpu_info().hypervisor.as_deref(), want, "{file} {text}");
        }
        let board = |name: &str| {
            Fake::new()
                .with_file("proc/cpuinfo", ARM)
                .with_file("proc/device-tree/compatible", name)
        };
        let named = |fake: &Fake| fake.host().cpu_info().hypervisor;
        let (virt, pi) = (board("linux,dummy-virt\0"), board("raspberrypi,5\0"));
        assert_eq!(named(&virt).as_deref(), Some("unknown hypervisor"));
        assert_eq!(named(&pi), None);
        let qemu =
            virt.with_file("proc/device-tree/fw-cfg@9020000/compatible", "qemu,fw-cfg-mmio\0");
        assert_eq!(named(&qemu).as_deref(), Some("QEMU"));
        let metal = Fake::new()
            .with_file("proc/cpuinfo", ARM)
            .with_file("sys/class/dmi/id/sys_vendor", "Amazon EC2")
            .with_file("sys/class/dmi/id/product_name", "c6g.metal");
        assert_eq!(metal.host().cpu_info().hypervisor, None);
    }

    #[test]
    fn the_rest_of_the_facts() {
        let fake = Fake::new()
            .with_file("sys/devices/system/cpu/online", "0-11\n")
            .with_file("sys/devices/system/cpu/smt/active", "1\n")
            .with_file("sys/devices/system/cpu/cpu10/cpufreq/scaling_governor", "powersave\n")
            .with_file("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "schedutil\n")
            .with_bytes("dev/cpu_dma_latency", &20_i32.to_ne_bytes());
        let info = fake.host().cpu_info();
        assert_eq!((info.online.as_str(), info.governor.as_str()), ("0-11", "schedutil"));
        assert!(info.smt);
        assert_eq!(info.cpu_dma_latency_us, Some(20));
        let short = Fake::new().with_bytes("dev/cpu_dma_latency", &[1, 2]);
        assert_eq!(short.host().cpu_info(), CpuInfo::default());
    }
}
