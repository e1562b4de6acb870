// SPDX-License-Identifier: GPL-2.0-or-later
//! The tracer on the irqpath kernel: a handler that its task runs shows as such.

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::Machine;
use irqpath_model::{Origin, Point, Summary, Via};
use irqpath_testing::cli::release_binary;
use irqpath_testing::guests;

const JOB: &str = "
waiter -n 50 -w 20 -t 5000000 -p 80 > /tmp/before.csv
for policy in migrate direct; do echo 1 > /sys/kernel/irqpath/$policy/enabled; done
waiter -n 1600 -t 5000000 -p 80 > /tmp/waiter.csv &
irqpath trace -d 1 -o /tmp/trace > /results/report
cp /tmp/trace/summary.json /results/
wait
";

#[test]
fn a_handler_in_the_task() {
    let Some((lab, kernel)) = guests::provide_kernel(Flavour::Irqpath, Arch::X86_64) else {
        return;
    };
    let Some(intsight) = guests::build_intsight(&lab, &kernel) else { return };
    let guest = Guest::new(&kernel)
        .program_file("irqpath", &release_binary())
        .own_program("waiter")
        .module_file(&intsight, "nr_devices=1")
        .job(JOB);
    let machine = Machine { limit_host: guests::LIMIT, ..Machine::exact(&kernel) };
    let outcome =
        machine.run(&lab, &guest.build(&lab).unwrap()).unwrap().require_success().unwrap();

    let summary: Summary =
        serde_json::from_str(&outcome.results.file_text("summary.json").unwrap()).unwrap();
    let migrated = summary
        .traced()
        .paths
        .iter()
        .find(|path| path.key.via.contains(Via::MIGRATED))
        .unwrap_or_else(|| {
            panic!("none migrated: {}", outcome.results.file_text("report").unwrap())
        });
    assert!(matches!(migrated.key.origin, Origin::Irq(_)), "{}", migrated.origin_name);
    assert_eq!(migrated.via, "task");
    let points: Vec<Point> = migrated.stages.iter().map(|stage| stage.stage).collect();
    assert_eq!(points, [Point::IrqThread, Point::Waking, Point::User]);
    assert!(migrated.histogram.len() > 100, "{} of 200 in a second", migrated.histogram.len());
}
