// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel facts: release, configuration, preemption model, forced irq threads, clock source.
//!
//! The preemption model has no single file. `PREEMPT_RT` is certain from `uname -v`; a dynamic
//! kernel tells in debugfs (root only), else its command line or configuration decides.

use irqpath_model::KernelInfo;

use crate::config::Config;
use crate::{Host, policy};

impl Host {
    /// The kernel, for `meta.json`; what the host does not tell is empty.
    pub fn kernel_info(&self) -> KernelInfo {
        let release = self.read_uname("osrelease", |u| u.release().to_string_lossy().into_owned());
        let version = self.read_uname("version", |u| u.version().to_string_lossy().into_owned());
        let config = self.kernel_config(&release);
        let cmdline = self.read_fact("proc/cmdline").unwrap_or_default();
        let preemption = self.preemption_model(&version, &cmdline, config.as_ref());
        // The option is in every configuration of x86 and arm64; elsewhere the word is ignored.
        let can_force = config.as_ref().is_none_or(|c| c.is_set("CONFIG_IRQ_FORCED_THREADING"));
        let asked_for = cmdline.split_whitespace().any(|word| word == "threadirqs");
        KernelInfo {
            forced_irq_threads: preemption == "rt" || (asked_for && can_force),
            machine: self.read_uname("arch", |u| u.machine().to_string_lossy().into_owned()),
            config_sha256: config.map(|c| c.sha256()).unwrap_or_default(),
            preemption: preemption.to_owned(),
            clocksource: self
                .read_fact("sys/devices/system/clocksource/clocksource0/current_clocksource")
                .unwrap_or_default(),
            policies: self.policies_on(),
            release,
            version,
            cmdline,
        }
    }

    /// Major and minor number of the kernel; `None` if its release does not begin with them.
    pub(crate) fn kernel_version(&self) -> Option<(u32, u32)> {
        let release = self.read_fact("proc/sys/kernel/osrelease")?;
        let mut parts = release.split(|c: char| !c.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }

    /// A file that cannot be read is none that says a policy is on.
    fn policies_on(&self) -> Vec<String> {
        let all = policy::read_policies(self).unwrap_or_default();
        all.into_iter().filter(|policy| policy.enabled).map(|policy| policy.name).collect()
    }

    /// From `/proc/sys/kernel`, or (a file that 6.1 may lack) from the system call.
    fn read_uname(&self, file: &str, field: impl Fn(&rustix::system::Uname) -> String) -> String {
        self.read_fact(&format!("proc/sys/kernel/{file}")).unwrap_or_else(|| {
            if self.is_real() { field(&rustix::system::uname()) } else { String::new() }
        })
    }

    fn preemption_model(
        &self,
        version: &str,
        cmdline: &str,
        config: Option<&Config>,
    ) -> &'static str {
        let realtime = self.read_fact("sys/kernel/realtime").is_some_and(|t| t == "1");
        if realtime || version.split_whitespace().any(|w| w.starts_with("PREEMPT_RT")) {
            return "rt";
        }
        if let Some(model) = self
            .read_fact("sys/kernel/debug/sched/preempt")
            .and_then(|t| model_word(in_parentheses(&t)?))
        {
            return model;
        }
        let is_dynamic = version.split_whitespace().any(|w| w == "PREEMPT_DYNAMIC");
        if is_dynamic && let Some(model) = find_parameter(cmdline, "preempt").and_then(model_word) {
            return model;
        }
        let by_config = config.and_then(|config| {
            [
                ("CONFIG_PREEMPT_RT", "rt"),
                ("CONFIG_PREEMPT_LAZY", "lazy"),
                ("CONFIG_PREEMPT", "full"),
                ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
                ("CONFIG_PREEMPT_NONE", "none"),
            ]
            .into_iter()
            .find_map(|(option, model)| config.is_set(option).then_some(model))
        });
        by_config.unwrap_or("")
    }
}

/// The value of the last `name=value` on a kernel command line.
pub(crate) fn find_parameter<'a>(cmdline: &'a str, name: &str) -> Option<&'a str> {
    let words = cmdline.split_whitespace().rev();
    words.filter_map(|w| w.split_once('=')).find_map(|(n, value)| (n == name).then_some(value))
}

fn in_parentheses(text: &str) -> Option<&str> {
    text.split_once('(')?.1.split_once(')').map(|(inside, _)| inside)
}

fn model_word(name: &str) -> Option<&'static str> {
    ["none", "voluntary", "full", "lazy"].into_iter().find(|&m| m == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    fn fake(version: &str, cmdline: &str, config: &str) -> Fake {
        Fake::new()
            .with_file("proc/sys/kernel/osrelease", "6.12.9\n")
            .with_file("proc/sys/kernel/version", version)
            .with_file("proc/cmdline", cmdline)
            .with_file("boot/config-6.12.9", config)
    }

    #[test]
    fn the_preemption_model() {
        const DYNAMIC: &str = "#1 SMP PREEMPT_DYNAMIC Debian";
        for (version, cmdline, config, want) in [
            ("#1 SMP PREEMPT_RT Debian 6.12", "preempt=none", "CONFIG_PREEMPT=y", "rt"),
            (DYNAMIC, "quiet preempt=full preempt=voluntary", "CONFIG_PREEMPT=y", "voluntary"),
            (DYNAMIC, "preempt=strange", "CONFIG_PREEMPT_LAZY=y\nCONFIG_PREEMPTION=y", "lazy"),
            (DYNAMIC, "", "CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y", "voluntary"),
            ("#1 SMP PREEMPT", "preempt=none", "CONFIG_PREEMPT=y", "full"),
            ("#1 SMP", "", "CONFIG_PREEMPT_NONE=y", "none"),
            ("#1 SMP", "", "", ""),
        ] {
            let info = fake(version, cmdline, config).host().kernel_info();
            assert_eq!(info.preemption, want, "{version} {cmdline} {config}");
        }
    }

    #[test]
    fn files_of_the_running_kernel_win() {
        let fake = fake("#1 SMP PREEMPT_DYNAMIC", "preempt=none", "")
            .with_file("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
        assert_eq!(fake.host().kernel_info().preemption, "full");
        let fake = fake.with_file("sys/kernel/realtime", "1\n");
        assert_eq!(fake.host().kernel_info().preemption, "rt");
    }

    #[test]
    fn policies_that_are_on() {
        let fake = Fake::new()
            .with_file("sys/kernel/irqpath/migrate/enabled", "1\n")
            .with_file("sys/kernel/irqpath/netprio/enabled", "0\n")
            .with_file("sys/kernel/irqpath/direct/enabled", "1\n");
        let info = fake.host().kernel_info();
        assert_eq!(info.policies, ["direct", "migrate"]);
        assert_eq!(info.policies_suffix(), "; policies direct, migrate");
        assert_eq!(KernelInfo::default().policies_suffix(), "");
    }

    #[test]
    fn forced_irq_threads() {
        for (version, cmdline, config, want) in [
            ("PREEMPT_RT", "", "", true),
            ("", "quiet threadirqs", "CONFIG_IRQ_FORCED_THREADING=y", true),
            ("", "threadirqs", "CONFIG_X=y", false),
            ("", "nothreadirqs", "CONFIG_IRQ_FORCED_THREADING=y", false),
        ] {
            let info = fake(version, cmdline, config).host().kernel_info();
            assert_eq!(info.forced_irq_threads, want, "{version} {cmdline} {config}");
        }
    }

    #[test]
    fn an_empty_root_gives_empty_facts() {
        assert_eq!(Fake::new().host().kernel_info(), KernelInfo::default());
    }

    #[test]
    fn this_machine_has_a_release() {
        let info = Host::real().kernel_info();
        assert!(!info.release.is_empty() && !info.machine.is_empty(), "{info:?}");
    }
}
