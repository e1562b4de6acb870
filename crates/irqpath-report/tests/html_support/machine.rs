// SPDX-License-Identifier: GPL-2.0-or-later
//! The made-up machine of the tests: its kernel, its lines, what the observer cost.

use std::collections::BTreeMap;

use irqpath_model::{
    CpuInfo, InterruptCounts, Isolation, KernelInfo, Meta, Missing, Names, Overhead, SCHEMA_VERSION,
};

/// Address of the callback of every timer here.
pub const TIMER_FN: u64 = 0xffff_ffff_8110_2030;

fn names() -> Names {
    let disks = (0..8).map(|n| (36 + n, format!("nvme0q{}", n + 1)));
    let network = (0..4).map(|n| (50 + n, format!("eth0-TxRx-{n}")));
    Names {
        irqs: disks.chain(network).collect(),
        symbols: BTreeMap::from([(TIMER_FN, "hrtimer_wakeup".to_owned())]),
    }
}

fn counts(base: u64) -> InterruptCounts {
    InterruptCounts {
        cpus: (0..8).collect(),
        interrupts: BTreeMap::from([
            ("LOC".to_owned(), vec![base * 3; 8]),
            ("36".to_owned(), vec![base; 8]),
        ]),
        softirqs: BTreeMap::from([("NET_RX".to_owned(), vec![base * 2; 8])]),
    }
}

/// Who, when, where.
pub fn meta() -> Meta {
    let text = str::to_owned;
    Meta {
        schema_version: SCHEMA_VERSION,
        irqpath_version: text("0.1.0"),
        command: ["irqpath", "trace", "-d", "10s", "-T", "200"].map(text).to_vec(),
        boot_id: text(""),
        run_id: text(""),
        commit: text(""),
        host: text("bench-7"),
        started_at: text("2025-11-21T10:15:04Z"),
        duration_ns: 10_004_211_532,
        source: text("live"),
        kernel: KernelInfo {
            release: text("6.12.57-rt14"),
            version: text("#1 SMP PREEMPT_RT"),
            machine: text("x86_64"),
            cmdline: text(
                "BOOT_IMAGE=/vmlinuz root=/dev/nvme0n1p2 ro isolcpus=6-7 nohz_full=6-7 quiet",
            ),
            config_sha256: "0123456789abcdef".repeat(4),
            preemption: text("rt"),
            forced_irq_threads: true,
            clocksource: text("tsc"),
            policies: vec![text("direct"), text("migrate")],
        },
        cpu: CpuInfo {
            model: text("Example 8-core processor"),
            online: text("0-7"),
            governor: text("performance"),
            smt: false,
            hypervisor: None,
            cpu_dma_latency_us: Some(2_000_000_000),
        },
        isolation: Isolation {
            isolated: text("6-7"),
            nohz_full: text("6-7"),
            rcu_nocbs: text("6-7"),
            default_smp_affinity: text("0-5"),
        },
        before: counts(1_000),
        after: counts(5_000),
        names: names(),
        is_exact: false,
        observer_effects: vec![text("Programs were attached to 23 tracepoints.")],
        ..Meta::default()
    }
}

/// What the observer cost.
pub fn overhead() -> Overhead {
    Overhead {
        nr_events: 1_843_204,
        mean_event_ns: 118,
        nr_sampled: 204_113,
        process_cpu_ns: 412_000_000,
        peak_rss_bytes: 38 << 20,
        map_bytes: 22 << 20,
        urgent_ns: 0,
    }
}

/// What the kernel lacks.
pub fn missing() -> Vec<Missing> {
    vec![Missing {
        what: "nmi:nmi_handler".to_owned(),
        consequence: "time in NMIs is shown as unexplained; CONFIG_TRACING provides it".to_owned(),
    }]
}
