// SPDX-License-Identifier: GPL-2.0-or-later
//! A unit without a guest. Engines start this test program again, for this one test.
//!
//! It writes the same bytes for the same unit. Files in the directory `faults` beside the campaign's
//! let it do wrong: `wrong-WORKER` (other bytes), `unsteady-WORKER` (other bytes each time),
//! `hang-EXPERIMENT` (for ever), `hang-once-EXPERIMENT`, `large-EXPERIMENT` (a megabyte),
//! `slow-EXPERIMENT` (half a second) and `fail-EXPERIMENT`. Every start leaves a line in `starts`:
//! process, unit, worker.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use irqpath_files::output::{Directory, OutputError};
use irqpath_lab::campaign::engine::UnitCommand;
use irqpath_lab::campaign::{CampaignError, Store, Unit, execute_task, find_worker};

/// The command of a unit; the campaign's directory, the batch and the task follow.
pub fn unit_command() -> UnitCommand {
    const SCRIPT: &str = "UNIT_PLACE=\"$2\" UNIT_BATCH=\"$3\" UNIT_TASK=\"$4\" exec \"$1\" \
        --exact unit::fake_unit --ignored --nocapture --quiet";
    let program = std::env::current_exe().expect("test");
    UnitCommand(vec!["sh".into(), "-c".into(), SCRIPT.into(), "sh".into(), program.into()])
}

/// Alone it does nothing.
#[test]
#[ignore = "one unit, which engines start: cargo test --locked -p irqpath-lab --test campaign"]
fn fake_unit() {
    let variable = |name: &str| std::env::var(name).ok();
    let Some(place) = variable("UNIT_PLACE").map(PathBuf::from) else { return };
    let number = |name: &str| variable(name).and_then(|number| number.parse().ok()).expect(name);
    let faults = place.with_file_name("faults");
    let worker = find_worker(variable);
    let ran = Store::open(&place, false).and_then(|store| {
        let (batch, task) = (number("UNIT_BATCH"), number("UNIT_TASK"));
        execute_task(&store, batch as u32, task, &worker, |_, unit, directory| {
            let starts = fs::File::options().append(true).create(true).open(faults.join("starts"));
            let line = format!("{} {} {worker}\n", std::process::id(), unit.experiment);
            starts.expect("starts").write_all(line.as_bytes()).expect("start");
            misbehave(&faults, unit);
            let faults = Faults { faults: &faults, worker: &worker };
            write_result(&faults, unit, directory).map_err(CampaignError::from)
        })
    });
    if let Err(error) = ran {
        eprintln!("{error}");
    }
    // Before the test's own last words.
    std::process::exit(0);
}

struct Faults<'a> {
    faults: &'a Path,
    worker: &'a str,
}

impl Faults<'_> {
    fn has(&self, fault: &str) -> bool {
        self.faults.join(fault).exists()
    }
}

fn misbehave(faults: &Path, unit: &Unit) {
    let has = |fault: &str| faults.join(format!("{fault}-{}", unit.experiment)).exists();
    if has("slow") {
        sleep(Duration::from_millis(500));
    }
    let once = faults.join(format!("hang-once-{}", unit.experiment));
    if has("hang") || fs::remove_file(once).is_ok() {
        sleep(Duration::from_secs(3600));
    }
    assert!(!has("fail"), "this unit fails");
}

fn write_result(
    faults: &Faults<'_>,
    unit: &Unit,
    directory: &Directory,
) -> Result<(), OutputError> {
    let mut text = format!("{} {}\n", unit.label(), unit.identity.key());
    if faults.has(&format!("wrong-{}", faults.worker)) {
        text = text.replacen('0', "1", 1);
    }
    if faults.has(&format!("unsteady-{}", faults.worker)) {
        text = format!("{text}{:?}", SystemTime::now());
    }
    if faults.has(&format!("large-{}", unit.experiment)) {
        text.push_str(&"x".repeat(1 << 20));
    }
    directory.write("console.log", |file| file.write_all(text.as_bytes()))
}
