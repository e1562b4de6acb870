// SPDX-License-Identifier: GPL-2.0-or-later
//! A tree of files that looks like the module's, the directories that it leaves behind, and what
//! is said about damaged ones.

use std::fs;
use std::path::{Path, PathBuf};

use irqpath_files::output::Directory;
use irqpath_model::bench::{BenchConfig, BenchOverflow, Clock, ClockRate, Mechanism, Wait};
use irqpath_model::bench::{RateSource, TOP_HALF};
use proptest::prelude::*;

use super::{DIRECTORY, Intsight, IntsightError, RATES_FILE, Room, read_raw};

const NAMES: &str = "trigger,top_half,bottom_half\ntrigger,top_half,softirq_entry,bottom_half\n\n";
const TSC: &str = "10,20,30\n110,120,125,140\n\n";

/// A directory as intsight leaves it.
fn raw(root: &Path) -> PathBuf {
    let directory = root.join(DIRECTORY);
    fs::create_dir_all(directory.join("csv_results")).unwrap();
    for (file, text) in [
        ("init", ""),
        ("bottom_handler", "tasklet\n"),
        ("reps", "3\n"),
        ("delay_ms", "20\n"),
        ("delay_us", "20500\n"),
        ("delay_type", "usleep_range\n"),
        ("checkpoint_capacity", "16\n"),
        ("prepare_trigger", ""),
        ("do_trigger", ""),
        ("postprocess_trigger", ""),
        ("trigger", "irq_work\n"),
        ("tracepoints", "softirq_entry irq_handler_entry\n"),
        ("overflows", "runs 1\ncheckpoints 4\n"),
        ("checkpoint_cost", "18\n"),
        ("available_bottom_handlers", "none softirq tasklet\n"),
        ("available_clocks", "tsc ktime\n"),
        ("csv_results/name", NAMES),
        ("csv_results/tsc", TSC),
        ("csv_results/ktime", TSC),
    ] {
        fs::write(directory.join(file), text).unwrap();
    }
    directory
}

fn read_file(directory: &Path, file: &str) -> String {
    fs::read_to_string(directory.join(file)).unwrap()
}

#[test]
fn a_copied_directory_is_read() {
    let root = tempfile::tempdir().unwrap();
    let directory = raw(root.path());
    fs::write(directory.join("load"), "256\n").unwrap();
    fs::write(directory.join(RATES_FILE), "tsc 2400000000\n").unwrap();
    let capture = read_raw(&directory, &[], Room::OTHERS).unwrap();
    let want = BenchConfig {
        mechanism: Mechanism::Tasklet,
        nr_reps: 3,
        delay_us: 20_500,
        wait: Wait::Passive,
        trigger: "irq_work".to_owned(),
        tracepoints: vec!["softirq_entry".to_owned(), "irq_handler_entry".to_owned()],
        checkpoint_capacity: 16,
        nr_load: Some(256),
        cpu: None,
    };
    assert_eq!(capture.config, want);
    assert_eq!(capture.overflow, Some(BenchOverflow { nr_runs: 1, nr_checkpoints: 4 }));
    assert_eq!(capture.checkpoint_cost_ticks, Some(18));
    let rate = ClockRate { hz: 2_400_000_000, source: RateSource::Given };
    assert_eq!(capture.rates, [(Clock::Tsc, rate)].into());
    assert_eq!(capture.runs.clocks().collect::<Vec<_>>(), [Clock::Tsc, Clock::Ktime]);
    let run = capture.runs.by_clock(Clock::Tsc).unwrap().nth(1).unwrap();
    assert_eq!(run.ticks, [110, 120, 125, 140]);
    assert_eq!(capture.runs.name_index(TOP_HALF), Some(run.names[1]));
    let one = read_raw(&directory, &[Clock::Ktime], Room::OTHERS).unwrap();
    assert_eq!(one.runs.clocks().collect::<Vec<_>>(), [Clock::Ktime]);
}

#[test]
fn the_thesis_had_milliseconds_and_no_more_files() {
    let root = tempfile::tempdir().unwrap();
    let directory = raw(root.path());
    for file in ["delay_us", "trigger", "tracepoints", "overflows", "checkpoint_cost"] {
        fs::remove_file(directory.join(file)).unwrap();
    }
    let capture = read_raw(&directory, &[], Room::OTHERS).unwrap();
    assert_eq!(capture.config.delay_us, 20_000);
    assert_eq!((capture.overflow, capture.checkpoint_cost_ticks), (None, None));
}

#[test]
fn damage_names_file_and_line() {
    for (file, text, line, reason) in [
        ("csv_results/name", "top half,bottom_half\n\n\n", 1, "'top half' is not the name"),
        ("csv_results/name", "a,,b\n\n\n", 1, "'' is not the name"),
        ("csv_results/tsc", "1,2,3\n1,2,x,4\n\n", 2, "'x' is not a stamp"),
        ("csv_results/tsc", "1,2,3\n1,2,-3,4\n\n", 2, "'-3' is not a stamp"),
        ("csv_results/tsc", "1,2,3\n1,2,+3,4\n\n", 2, "'+3' is not a stamp"),
        ("csv_results/tsc", "1,2\n", 1, "2 stamps for 3 checkpoints"),
        ("csv_results/tsc", "1,2,3\n", 2, "ends after 1 of 3 runs"),
        ("csv_results/tsc", "1,2,3\n1,2,3,4\n\n5\n", 4, "there are 3 runs only"),
        ("csv_results/tsc", "1,2,99999999999999999999\n", 1, "is not a stamp"),
        ("csv_results/sundial", "", 1, "there is no clock 'sundial'"),
        ("bottom_handler", "magic\n", 1, "there is no mechanism 'magic'"),
        ("delay_type", "nap\n", 1, "there is no way to wait 'nap'"),
        ("reps", "many\n", 1, "'many' is not such a number"),
        ("overflows", "none\n", 1, "not a number of runs"),
        (RATES_FILE, "tsc 1000\ntsc 0\n", 2, "not a clock and its ticks"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let directory = raw(root.path());
        fs::write(directory.join(file), text).unwrap();
        let error = read_raw(&directory, &[], Room::OTHERS).unwrap_err();
        let IntsightError::Malformed { path, line: got, .. } = &error else { panic!("{error}") };
        assert!(path.ends_with(file), "{error}");
        assert_eq!(*got, line, "{error}");
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

#[test]
fn what_is_absent_is_named() {
    let root = tempfile::tempdir().unwrap();
    let directory = raw(root.path());
    fs::remove_file(directory.join("csv_results/name")).unwrap();
    let error = read_raw(&directory, &[], Room::OTHERS).unwrap_err().to_string();
    assert!(error.contains("csv_results/name ("), "{error}");
    let error = read_raw(root.path(), &[], Room::OTHERS).unwrap_err().to_string();
    assert!(error.contains("bottom_handler ("), "{error}");
}

#[test]
fn a_line_without_end_is_an_error_and_not_a_full_memory() {
    let root = tempfile::tempdir().unwrap();
    let directory = raw(root.path());
    fs::write(directory.join("csv_results/name"), vec![b'a'; 3 << 20]).unwrap();
    let error = read_raw(&directory, &[], Room::OTHERS).unwrap_err().to_string();
    assert!(error.contains("line 1: the line has more than"), "{error}");
}

#[test]
fn a_benchmark_sets_runs_copies_and_restores() {
    let root = tempfile::tempdir().unwrap();
    let directory = raw(root.path());
    {
        let module = Intsight::open(root.path()).unwrap();
        assert_eq!(read_file(&directory, "init"), "", "it was initialised already");
        let available = module.read_available().unwrap();
        assert_eq!(available.mechanisms, ["none", "softirq", "tasklet"]);
        assert_eq!(available.clocks, [Clock::Tsc, Clock::Ktime]);
        let config = BenchConfig {
            mechanism: Mechanism::Softirq,
            nr_reps: 200,
            delay_us: 39_063,
            wait: Wait::Active,
            tracepoints: vec![],
            ..module.read_config().unwrap()
        };
        module.prepare_bench(&config).unwrap();
        assert_eq!(module.read_config().unwrap(), config);
        assert_eq!(read_file(&directory, "delay_type"), "udelay\n");
        assert_eq!(read_file(&directory, "tracepoints"), "\n");
        module.run_bench().unwrap();
        module.postprocess().unwrap();
        for file in ["prepare_trigger", "do_trigger", "postprocess_trigger"] {
            assert_eq!(read_file(&directory, file), "1\n");
        }
        let copy = root.path().join("copy");
        fs::create_dir(&copy).unwrap();
        module.copy_to(&Directory::open(&copy, false).unwrap()).unwrap();
        assert_eq!(read_raw(&copy, &[], Room::OTHERS).unwrap(), module.read(&[]).unwrap());
        assert!(!copy.join("do_trigger").exists());
    }
    assert_eq!(read_file(&directory, "bottom_handler"), "tasklet\n");
    assert_eq!(read_file(&directory, "tracepoints"), "softirq_entry irq_handler_entry\n");
    assert_eq!(read_file(&directory, "delay_us"), "20500\n");
}

#[test]
fn a_module_that_was_just_loaded_is_initialised() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join(DIRECTORY);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("init"), "").unwrap();
    let module = Intsight::open(root.path()).unwrap();
    assert_eq!(read_file(&directory, "init"), "1\n");
    assert!(module.read_config().is_err(), "this one did not make its files");
}

#[test]
fn why_there_is_no_module() {
    let root = tempfile::tempdir().unwrap();
    let says = |part: &str| {
        let error = Intsight::open(root.path()).unwrap_err().to_string();
        assert!(error.contains(part) && error.lines().count() == 1, "{error}");
    };
    says("modprobe intsight");
    let debugfs = root.path().join("sys/kernel/debug");
    fs::create_dir_all(&debugfs).unwrap();
    says("mount -t debugfs none");
    fs::create_dir(debugfs.join("tracing")).unwrap();
    says("modprobe intsight");
}

#[test]
fn a_refused_value_comes_with_those_that_exist() {
    let root = tempfile::tempdir().unwrap();
    let directory = raw(root.path());
    let module = Intsight::open(root.path()).unwrap();
    // A file that cannot be written stands for a module that says no.
    fs::remove_file(directory.join("bottom_handler")).unwrap();
    fs::create_dir(directory.join("bottom_handler")).unwrap();
    let config = BenchConfig {
        mechanism: Mechanism::WorkqueueBh,
        nr_reps: 1,
        delay_us: 1,
        wait: Wait::Passive,
        trigger: String::new(),
        tracepoints: vec![],
        checkpoint_capacity: 8,
        nr_load: None,
        cpu: None,
    };
    let error = module.prepare_bench(&config).unwrap_err().to_string();
    assert!(error.contains("refuses 'workqueue_bh' for bottom_handler"), "{error}");
    assert!(error.ends_with("it has: none softirq tasklet"), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_a_result_or_an_error(
        names in prop::collection::vec(prop_oneof![Just(b','), Just(b'\n'), Just(b'a'), any::<u8>()], 0..200),
        ticks in prop::collection::vec(prop_oneof![Just(b','), Just(b'\n'), Just(b'7'), any::<u8>()], 0..200),
    ) {
        let root = tempfile::tempdir().unwrap();
        let directory = raw(root.path());
        fs::write(directory.join("csv_results/name"), names).unwrap();
        fs::write(directory.join("csv_results/tsc"), ticks).unwrap();
        let _ = read_raw(&directory, &[Clock::Tsc], Room::OTHERS);
    }

    #[test]
    fn what_was_written_is_what_is_read(
        runs in prop::collection::vec(prop::collection::vec(("[a-z_]{1,12}", any::<u64>()), 0..6), 0..30),
    ) {
        let root = tempfile::tempdir().unwrap();
        let directory = raw(root.path());
        let text = |field: fn(&(String, u64)) -> String| {
            let line = |run: &Vec<(String, u64)>| run.iter().map(field).collect::<Vec<_>>().join(",");
            runs.iter().map(|run| line(run) + "\n").collect::<String>()
        };
        fs::write(directory.join("csv_results/name"), text(|c| c.0.clone())).unwrap();
        fs::write(directory.join("csv_results/tsc"), text(|c| c.1.to_string())).unwrap();
        let capture = read_raw(&directory, &[Clock::Tsc], Room::OTHERS).unwrap();
        prop_assert_eq!(capture.runs.len(), runs.len());
        for (got, want) in capture.runs.by_clock(Clock::Tsc).unwrap().zip(&runs) {
            let names = got.names.iter().map(|&n| capture.runs.names()[usize::from(n)].clone());
            let got: Vec<(String, u64)> = names.zip(got.ticks.iter().copied()).collect();
            prop_assert_eq!(&got, want);
        }
    }
}
