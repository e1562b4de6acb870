// SPDX-License-Identifier: GPL-2.0-or-later
//! `top` on a terminal of paper: keys go in, the picture is read.

use std::time::Duration;

use irqpath_model::{
    Cause, CauseKind, Comm, LineStats, LossReason, Measured, Names, Origin, PathEnd, PathKey,
    PathRecord, PathStats, PathSummary, Paths, Point, SlowPath, SoftirqStats, SoftirqVec,
    StageCauses, Stamp, Summary, Task, Vector, Via,
};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::{About, App, Flow, Table};
use super::draw;

fn make_record(irq: u32, comm: &str, wait_ns: u64) -> PathRecord {
    let mut stamps = [None; Point::COUNT];
    for (point, ns) in [
        (Point::Hardirq, 1_000_000),
        (Point::Waking, 1_004_000),
        (Point::SwitchIn, 1_004_000 + wait_ns),
    ] {
        stamps[point.index()] = Some(Stamp { ns, cpu: 1 });
    }
    PathRecord {
        origin: Origin::Irq(irq),
        via: Via::empty(),
        stamps,
        timer_fn: 0,
        target: Task { tid: 700 + irq, comm: comm.into(), prio: 120, ..Task::default() },
        end: PathEnd::SwitchIn,
        queues: Vec::new(),
        cgroup: None,
    }
}

fn make_summary() -> Summary {
    let names = make_names();
    let path = |irq, comm: &str, waits: &[u64]| {
        let key = PathKey {
            origin: Origin::Irq(irq),
            via: Via::empty(),
            comm: Comm::from(comm),
            sched: None,
            folded: false,
            cgroup: None,
        };
        let mut stats = PathStats::new(key);
        for wait in waits {
            stats.record_path(&make_record(irq, comm, *wait));
        }
        PathSummary::new(stats, &names)
    };
    let slow = make_record(36, "postgres", 900_000);
    let cause = Cause {
        kind: CauseKind::Thread,
        who: "stress-ng:4711 f:20".to_owned(),
        ns: 880_000,
        nr_times: 3,
    };
    Summary::from_measured(Measured::Paths(Paths {
        paths: vec![
            path(36, "postgres", &[5_000, 7_000, 900_000]),
            path(40, "sshd", &[20_000; 10]),
        ],
        lines: vec![LineStats {
            origin: Origin::Vector(Vector::LocalTimer),
            cpu: 0,
            nr: 4321,
            run_ns: 4_321_000,
            max_run_ns: 9_000,
        }],
        softirqs: vec![SoftirqStats {
            vec: SoftirqVec::NetRx,
            cpu: 1,
            nr: 55,
            run_ns: 550_000,
            max_run_ns: 30_000,
            delay_ns: 110_000,
            max_delay_ns: 8_000,
        }],
        slow: vec![SlowPath {
            stages: vec![StageCauses {
                from: Point::Waking,
                to: Point::SwitchIn,
                cpu: 1,
                waited_for: Vec::new(),
                ns: 900_000,
                causes: vec![cause],
            }],
            record: slow,
        }],
        ..Paths::default()
    }))
}

fn make_names() -> Names {
    Names {
        irqs: [(36, "virtio1-req.0".to_owned()), (40, "eth0".to_owned())].into(),
        ..Names::default()
    }
}

fn make_app() -> App {
    let mut app = App::new(About {
        host: "box".into(),
        kernel: "6.12.1-rt".into(),
        source: "live".into(),
        names: make_names(),
        is_virtual: false,
    });
    app.take_summary(make_summary(), Duration::from_secs(1));
    app
}

fn press_keys(app: &mut App, keys: &str) -> Flow {
    let mut flow = Flow::Continue;
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            c => KeyCode::Char(c),
        };
        flow = app.handle_key(KeyEvent::new(code, KeyModifiers::NONE));
    }
    flow
}

fn draw_picture(app: &mut App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw_screen(frame, app)).unwrap();
    terminal.backend().to_string()
}

fn first_row(app: &App) -> String {
    app.rows.first().map(|r| r.values[0].format_cell()).unwrap_or_default()
}

#[test]
fn the_path_table_shows_names_and_numbers_slowest_first() {
    let mut app = make_app();
    let text = draw_picture(&mut app, 140, 20);
    for part in ["box", "6.12.1-rt", "36:virtio1-req.0", "postgres:736", "904", "2 paths", "0 lost"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert_eq!(first_row(&app), "36:virtio1-req.0");
    assert!(text.contains("scheduling"), "{text}");
}

#[test]
fn numbers_are_never_cut_and_names_only_where_they_must_be() {
    let mut app = make_app();
    for (width, name) in [(100, "36:virtio1-req.0"), (80, "36:virtio"), (60, "36:")] {
        let text = draw_picture(&mut app, width, 12);
        let row = text.lines().find(|l| l.contains(name)).unwrap_or_else(|| panic!("{text}"));
        let words: Vec<&str> = row.split_whitespace().collect();
        for number in ["3", "11.0", "904"] {
            assert!(words.contains(&number), "{width}: {number} is not in {row}");
        }
    }
}

/// A screen of 80 and of 200 columns, word for word. `IRQPATH_BLESS=1 cargo test` rewrites them.
#[test]
fn tasks_with_one_name_stay_apart_on_a_narrow_screen() {
    let mut app = make_app();
    let mut next = make_summary();
    for (tid, paths) in [(4711, 2_150), (4712, 12), (4713, 3), (4714, 1)] {
        let mut path = next.traced_mut().unwrap().paths[0].clone();
        path.key.comm = Comm::from(format!("load-disk-wr{}", tid - 4710).as_str());
        path.tid = Some(tid);
        path.via = "block+ksoftirqd @cpu".to_owned();
        path.total.n = paths;
        next.traced_mut().unwrap().paths.push(path);
    }
    for via in ["rcu+ksoftirqd", "rcu+ksoftirqd @cpu"] {
        let mut path = next.traced_mut().unwrap().paths[0].clone();
        path.origin_name = "LOC:local_timer".to_owned();
        path.key.comm = Comm::from("rcu_preempt");
        (path.tid, path.via) = (Some(15), via.to_owned());
        path.key.via = if via.ends_with("@cpu") { Via::REMOTE } else { Via::empty() };
        next.traced_mut().unwrap().paths.push(path);
    }
    next.loss.add_loss(LossReason::SwitchUnseen, 24);
    app.take_summary(next, Duration::from_secs(2));
    for width in [80, 200] {
        let text = draw_picture(&mut app, width, 15);
        compare_golden(&format!("top-{width}.txt"), &text);
        assert!(text.contains("24 lost (switches that the kernel showed to no program;"), "{text}");
        assert!(text.contains("causes say unseen)"), "{text}");
        let mut rows: Vec<&str> = text.lines().filter(|l| l.contains("rcu_preempt:15")).collect();
        rows.dedup();
        assert_eq!(rows.len(), 2, "rows that cannot be told apart: {text}");
        let (_, keys) = text.trim_end().rsplit_once('\n').unwrap();
        assert!(keys.contains("q quit"), "{keys}");
        assert!((4711..=4714).all(|tid| text.contains(&format!(":{tid} "))), "{text}");
    }
}

fn compare_golden(name: &str, got: &str) {
    let name = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("IRQPATH_BLESS").is_some() {
        std::fs::write(&name, got).unwrap();
    }
    assert_eq!(got, std::fs::read_to_string(&name).unwrap(), "{name}");
}

#[test]
fn an_open_path_at_80_columns_names_the_unit_of_its_scale() {
    let mut app = make_app();
    for (longest_us, want) in
        [(3_959, "log scale to 3 959 us"), (60_000_000, "log to 60 000 000 us")]
    {
        let mut next = make_summary();
        next.traced_mut().unwrap().paths[0].stages[0].quantiles.max_ns = longest_us * 1_000;
        app.take_summary(next, Duration::from_secs(1));
        press_keys(&mut app, "\n");
        let text = draw_picture(&mut app, 80, 14);
        assert!(text.contains(want), "{text}");
        press_keys(&mut app, "\x1b");
    }
}

#[test]
fn hostile_names_are_shown_as_escapes() {
    let mut app = make_app();
    let mut next = make_summary();
    let name = b"\x1b[2J\x9b\n\xe2\x80\xae\xff\xf0\x9f";
    next.traced_mut().unwrap().paths[0].key.comm = Comm::from_bytes(name);
    next.traced_mut().unwrap().slow[0].record.target.comm = Comm::from_bytes(name);
    app.about.names.irqs.insert(36, "\u{9b}31m\u{202e}\n".to_owned());
    next.traced_mut().unwrap().paths[0].origin_name = app.about.names.origin(Origin::Irq(36));
    app.take_summary(next, Duration::from_secs(2));
    for keys in ["", "\n", "\x1bi"] {
        press_keys(&mut app, keys);
        let text = draw_picture(&mut app, 160, 24);
        let bad = text.chars().find(|&c| c != '\n' && !irqpath_model::is_printable(c));
        assert_eq!(bad, None, "{text}");
        assert!(keys == "\x1bi" || text.contains(r"\x1b[2J\x9b\n"), "{text}");
    }
}

#[test]
fn sorting_and_reversing() {
    let mut app = make_app();
    press_keys(&mut app, "r");
    assert_eq!(first_row(&app), "40:eth0");
    press_keys(&mut app, "r<<<<<");
    assert_eq!(app.sort, 3, "from the slowest five columns back to the count");
    assert_eq!(first_row(&app), "40:eth0");
    press_keys(&mut app, "<<<<");
    assert_eq!(app.sort, app.table.columns().len() - 1, "columns wrap around");
}

#[test]
fn a_filter_is_typed_shown_and_cleared() {
    let mut app = make_app();
    press_keys(&mut app, "/ETH");
    assert!(app.editing && app.rows.len() == 1);
    assert!(draw_picture(&mut app, 140, 20).contains("filter: ETH"));
    press_keys(&mut app, "\n");
    assert_eq!((app.editing, app.filter.as_str()), (false, "ETH"));
    press_keys(&mut app, "\x1b");
    assert_eq!((app.filter.as_str(), app.rows.len()), ("", 2));
    press_keys(&mut app, "/q?");
    assert_eq!(app.filter, "q?", "keys are text while a filter is typed");
}

#[test]
fn a_path_opens_into_stages_and_causes_and_closes() {
    let mut app = make_app();
    press_keys(&mut app, "\n");
    let text = draw_picture(&mut app, 120, 24);
    for part in
        ["via -", "handler to wakeup", "thread stress-ng:4711 f:20", "880 us   97 %", "3\u{d7}"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    press_keys(&mut app, "\x1b");
    assert!(app.open.is_none());
    press_keys(&mut app, "j\n");
    assert!(draw_picture(&mut app, 120, 24).contains("none recorded yet"));
}

#[test]
fn the_other_tables_and_help() {
    let mut app = make_app();
    press_keys(&mut app, "i");
    let text = draw_picture(&mut app, 120, 24);
    assert!(text.contains("LOC:local_timer") && text.contains("4 321"), "{text}");
    press_keys(&mut app, "f");
    let text = draw_picture(&mut app, 120, 24);
    assert!(text.contains("net_rx") && text.contains("DELAY MAX"), "{text}");
    press_keys(&mut app, "\x1b");
    assert_eq!(app.table, Table::Paths);
    press_keys(&mut app, "?");
    assert!(draw_picture(&mut app, 120, 30).contains("interrupts per line and CPU"));
    press_keys(&mut app, "x");
    assert!(!app.help);
    assert_eq!(press_keys(&mut app, "q"), Flow::Quit);
}

#[test]
fn pausing_keeps_the_numbers() {
    let mut app = make_app();
    press_keys(&mut app, "p");
    app.take_summary(Summary::default(), Duration::from_secs(2));
    assert_eq!(app.rows.len(), 2);
    assert!(draw_picture(&mut app, 120, 24).contains("PAUSED"));
    press_keys(&mut app, "p");
    app.take_summary(Summary::default(), Duration::from_secs(3));
    assert!(app.rows.is_empty());
}

#[test]
fn the_selection_stays_on_its_row_when_the_order_changes() {
    let mut app = make_app();
    press_keys(&mut app, "j");
    assert_eq!(app.rows[app.selected].values[0].format_cell(), "40:eth0");
    let mut next = make_summary();
    next.traced_mut().unwrap().paths[1].slowest_ns = 5_000_000;
    app.take_summary(next, Duration::from_secs(2));
    assert_eq!(app.rows[app.selected].values[0].format_cell(), "40:eth0");
    assert_eq!(app.selected, 0);
}

#[test]
fn losses_and_exceeded_thresholds_are_shown() {
    let mut app = make_app();
    let mut next = make_summary();
    next.loss.add_loss(LossReason::RingbufFull, 17);
    next.traced_mut().unwrap().threshold_ns = Some(50_000);
    next.traced_mut().unwrap().nr_slow = 3;
    app.take_summary(next, Duration::from_secs(2));
    let text = draw_picture(&mut app, 120, 24);
    assert!(text.contains("17 lost") && text.contains("3 over 50.0 us"), "{text}");
}

proptest! {
    #[test]
    fn no_keys_and_no_size_break_it(
        keys in "[srifp?/jkgGq<>\n\x1bx]{0,40}",
        width in 1u16..200,
        height in 1u16..60,
    ) {
        let mut app = make_app();
        press_keys(&mut app, &keys);
        draw_picture(&mut app, width, height);
        app.take_summary(Summary::default(), Duration::from_secs(2));
        draw_picture(&mut app, width, height);
    }
}
