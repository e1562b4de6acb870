// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces for some seconds in a guest and compares every path with the witness's record:
//! `witness SECONDS`. Prints every difference by kind, and exits with 1 if there is a false join
//! or a cause of another CPU. Run by `guests/recorder.rs` of irqpath-testing; the live tests are `tests/recorder`.

#![allow(clippy::print_stdout)] // it is a program

use std::process::ExitCode;
use std::time::Duration;

use irqpath_witness::{Differences, Kind};

use irqpath_testing::session::Session;

/// A guest has little memory.
const RECORD_BYTES: u32 = 16 << 20;

fn main() -> ExitCode {
    let Some(seconds) = std::env::args().nth(1).and_then(|text| text.parse().ok()) else {
        eprintln!("usage: witness SECONDS");
        return ExitCode::from(2);
    };
    let session = match Session::run(Duration::from_secs(seconds), RECORD_BYTES) {
        Ok(session) => session,
        Err(error) => {
            eprintln!("witness: {error}");
            return ExitCode::from(2);
        }
    };
    let mut differences = Differences::default();
    let judge = session.compare(&mut differences);
    println!(
        "events {} skipped {:?} unseen {} lost {:?}",
        session.record.events.len(),
        session.record.skipped,
        judge.nr_unseen(),
        session.loss.0
    );
    print!("{differences}");
    let wrong = differences.nr_false_joins() + differences.nr_of(Kind::WrongCpu);
    ExitCode::from(u8::from(wrong > 0))
}
