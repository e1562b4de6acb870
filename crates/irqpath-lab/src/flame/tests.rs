// SPDX-License-Identifier: GPL-2.0-or-later
//! Recordings made by hand: what comes out of them, and that damaged ones are refused.

use proptest::prelude::*;

use super::recording::{Block, Charge, Node};
use super::*;

const KERNEL: u64 = 0xffff_ffff_8100_0000;

/// The bytes that `lab/plugin/output.c` would write.
fn write_recording(recording: &Recording) -> Vec<u8> {
    let mut out = b"IRQFLAME\x01\x01".to_vec();
    let stats = &recording.stats;
    let counters = [
        stats.interrupts,
        stats.entries,
        stats.faulted,
        stats.repeated,
        stats.resumed,
        stats.unshaped,
        stats.mismatched,
        stats.unmatched,
        stats.lost,
    ];
    put_list(&mut out, &counters, |out, &value| put_varint(out, value));
    put_list(&mut out, &recording.nodes, |out, node| match *node {
        Node::Unknown => out.push(0),
        Node::User => out.push(1),
        Node::Call { parent, address } => put_all(out, &[2, parent.into(), address]),
        Node::Interrupt { parent, address } => put_all(out, &[3, parent.into(), address]),
        Node::Syscall { parent, address } => put_all(out, &[4, parent.into(), address]),
    });
    put_list(&mut out, &recording.blocks, |out, block| {
        put_varint(out, block.address);
        put_list(out, &block.sizes, |out, &size| out.push(size));
    });
    put_list(&mut out, &recording.paths, put_path);
    let sum = out.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    out.extend(sum.to_le_bytes());
    out
}

fn put_path(out: &mut Vec<u8>, path: &PathRecording) {
    out.extend([path.marks.from, path.marks.to]);
    put_varint(out, path.restarted);
    out.push(path.under_way.into());
    put_list(out, &path.routes, |out, route| {
        out.extend(route.digest.0.to_le_bytes());
        out.extend(route.digest.1.to_le_bytes());
        put_list(out, &route.charges, |out, charge| {
            let Charge { node, block, first, count, .. } = *charge;
            put_all(out, &[node.into(), block.into(), first.into(), count.into(), charge.times]);
        });
    });
    put_list(out, &path.instances, |out, instance| {
        put_all(out, &[instance.length, instance.route as u64, instance.epoch.into()]);
        out.push(instance.idle.into());
    });
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_all(out: &mut Vec<u8>, values: &[u64]) {
    for &value in values {
        put_varint(out, value);
    }
}

fn put_list<T>(out: &mut Vec<u8>, list: &[T], mut element: impl FnMut(&mut Vec<u8>, &T)) {
    put_varint(out, list.len() as u64);
    for item in list {
        element(out, item);
    }
}

/// Functions of 256 bytes each: `f0` at [`KERNEL`], `f1` behind it, ...
fn make_symbols() -> Symbols {
    let line = |n: u64| format!("{:x} t f{n}\n", KERNEL + n * 256);
    let text: String = (0..20).map(line).collect();
    let text =
        text + &format!("{:x} T ret_from_fork_asm\n{:x} d data\n", KERNEL + 5120, KERNEL + 5376);
    Symbols::from_kallsyms(&text).unwrap()
}

/// An address in function `n`.
fn address_in(n: u64) -> u64 {
    KERNEL + n * 256 + 16
}

fn make_block(address: u64, instructions: usize) -> Block {
    Block { address, sizes: vec![4; instructions] }
}

fn make_charge(node: u32, block: u32, count: u32, times: u64) -> Charge {
    Charge { node, block, first: 0, count, times }
}

/// A path with the lengths 30, 30, 95, 30: twice nothing special, once a tick, once elsewhere.
fn make_recording() -> Recording {
    let nodes = vec![
        Node::User,
        Node::Syscall { parent: 0, address: 0x40_1002 },
        Node::Call { parent: 1, address: address_in(1) },
        Node::Interrupt { parent: 2, address: address_in(2) },
        Node::Call { parent: 3, address: address_in(5) },
        Node::Unknown,
        Node::Call { parent: 5, address: KERNEL + 5120 + 16 },
        Node::Interrupt { parent: 1, address: address_in(1) },
        Node::Call { parent: 7, address: address_in(5) },
    ];
    let blocks = vec![
        make_block(address_in(2), 20),
        make_block(address_in(5), 10),
        make_block(address_in(6), 60),
        make_block(address_in(7), 30),
        make_block(0x40_1000, 8),
        make_block(KERNEL + 256 - 8, 4), // two of f0, two of f1
        make_block(KERNEL + 5376, 5),    // no symbol
    ];
    let routes = vec![
        Route { digest: (1, 2), charges: vec![make_charge(2, 0, 20, 1), make_charge(2, 1, 10, 1)] },
        Route {
            digest: (3, 4),
            charges: vec![
                make_charge(2, 0, 20, 1),
                make_charge(2, 1, 10, 1),
                make_charge(3, 1, 5, 1),
                make_charge(4, 2, 60, 1),
            ],
        },
        Route {
            digest: (5, 6),
            charges: vec![
                make_charge(6, 3, 10, 1),
                make_charge(0, 4, 8, 1),
                make_charge(2, 5, 4, 2),
                make_charge(2, 6, 4, 1),
            ],
        },
    ];
    let lengths = [(30, 0), (30, 0), (95, 1), (30, 2)];
    let instances = lengths
        .iter()
        .map(|&(length, route)| Instance { length, route, epoch: 1, idle: route == 2 })
        .collect();
    let marks = PathMarks { from: 2, to: 4 };
    let path = PathRecording { marks, restarted: 0, under_way: false, instances, routes };
    Recording {
        stats: Stats { interrupts: 7, ..Stats::default() },
        paths: vec![path],
        nodes,
        blocks,
    }
}

#[test]
fn what_is_written_is_read() {
    let recording = make_recording();
    assert_eq!(Recording::parse(&write_recording(&recording)).unwrap(), recording);
}

#[test]
fn stacks_carry_names_and_their_sum_is_the_length() {
    let recording = make_recording();
    let attribution = Attribution::new(&recording, &make_symbols());
    let path = recording.find_path(PathMarks { from: 2, to: 4 }).unwrap();
    let folded: Vec<String> = path
        .routes
        .iter()
        .map(|route| {
            let profile = attribution.profile_route(route);
            assert_eq!(profile.total(), route.length());
            profile.fold_stacks()
        })
        .collect();
    assert_eq!(folded[0], "[user];f1;f2 20\n[user];f1;f5 10\n");
    let tick = "[user];f1;f2 20\n[user];f1;f2;f5 5\n[user];f1;f2;f5;f6 60\n[user];f1;f5 10\n";
    assert_eq!(folded[1], tick);
    let other = "[user] 8\n[user];f1;[unsymbolised] 4\n[user];f1;f0 4\n[user];f1;f1 4\n\
                 ret_from_fork_asm;f7 10\n";
    assert_eq!(folded[2], other);
    let profile = attribution.profile_route(&path.routes[2]);
    assert_eq!((profile.unsymbolised(), profile.unknown()), (4, 0));
}

#[test]
fn code_lines_are_those_of_the_instructions_that_ran_each_once() {
    // 20 instructions of 4 bytes from the end of a line on, and one that straddles two lines.
    let straddling = Block { address: KERNEL + 0x1fe, sizes: vec![4] };
    let blocks = vec![make_block(KERNEL + 0x38, 20), make_block(KERNEL + 0x1000, 1), straddling];
    let recording = Recording { blocks, ..make_recording() };
    let lines =
        |charges: Vec<Charge>| recording.count_code_lines(&Route { digest: (0, 0), charges });
    let part = |first, count, times| Charge { node: 0, block: 0, first, count, times };
    assert_eq!(lines(vec![make_charge(0, 0, 20, 1)]), 3);
    // Twice, and in two chains: the same lines.
    assert_eq!(lines(vec![make_charge(0, 0, 20, 7), make_charge(1, 0, 20, 1)]), 3);
    assert_eq!(lines(vec![part(0, 2, 1)]), 1);
    assert_eq!(lines(vec![part(1, 2, 1)]), 2);
    assert_eq!(lines(vec![part(2, 16, 1), part(18, 2, 0)]), 1);
    assert_eq!(lines(vec![make_charge(0, 1, 1, 1), make_charge(0, 2, 1, 1)]), 3);
    assert_eq!(lines(Vec::new()), 0);
}

#[test]
fn instances_are_found_by_length_and_compared_with_what_was_measured() {
    let recording = make_recording();
    let path = &recording.paths[0];
    // Three have the median length, two of them the same route.
    assert_eq!(path.quantile_index(0.5), Some(0));
    assert_eq!((path.quantile_index(0.0), path.quantile_index(1.0)), (Some(0), Some(2)));
    assert_eq!(path.route_of(2).unwrap().digest, (3, 4));
    let good = path.compare_lengths(&[30, 30, 95, 1000]);
    assert_eq!(good, Comparison { exact: 3, idle: 1, ..Comparison::default() });
    let bad = path.compare_lengths(&[30, 31, 95]);
    assert_eq!((bad.differing, bad.unpaired), (vec![(1, 30, 31)], 1));
}

#[test]
fn a_tick_is_named_as_what_made_a_run_longer() {
    let recording = make_recording();
    let attribution = Attribution::new(&recording, &make_symbols());
    let profile = |at: usize| attribution.profile_route(&recording.paths[0].routes[at]);
    let growth = Growth::between(&profile(0), &profile(1));
    // 60 of the 65 are in what the handler calls; wherever it hit, its chain begins with it.
    assert_eq!((growth.total, growth.unexplained), (65, 5));
    assert_eq!(growth.to_string(), "f6 < f5 +60");
    assert!(Growth::between(&profile(1), &profile(0)).frames.is_empty());
}

#[test]
fn a_table_of_functions_survives_toml_and_tells_what_grew() {
    let recording = make_recording();
    let attribution = Attribution::new(&recording, &make_symbols());
    let table =
        |at: usize| attribution.profile_route(&recording.paths[0].routes[at]).sum_functions();
    let text = toml::to_string(&table(0)).unwrap();
    assert_eq!(text, "f2 = 20\nf5 = 10\n");
    let before: FunctionTable = toml::from_str(&text).unwrap();
    assert_eq!(before, table(0));
    let grown = table(1).grown_since(&before);
    assert_eq!(grown, [("f6".to_owned(), 60), ("f5".to_owned(), 5)]);
    assert_eq!(table(1).total(), 95);
}

#[test]
fn graphs_are_whole_deterministic_and_say_what_they_count() {
    let recording = make_recording();
    let attribution = Attribution::new(&recording, &make_symbols());
    let profile = |at: usize| attribution.profile_route(&recording.paths[0].routes[at]);
    let caption =
        svg::Caption { title: "raise to user".to_owned(), note: "median".to_owned(), scale: None };
    let graph = svg::draw_graph(&profile(1), &caption).unwrap();
    for text in ["raise to user", "median: 95 instructions (instructions, not cycles", ">f6<"] {
        assert!(graph.contains(text), "{text}");
    }
    assert_eq!(graph, svg::draw_graph(&profile(1), &caption).unwrap());
    let difference = svg::draw_difference(&profile(0), &profile(1), &caption).unwrap();
    assert!(difference.contains("95 instructions, before 30"));
    assert!(svg::draw_graph(&Profile::default(), &caption).is_err());

    let width = |scale| {
        let scaled = svg::Caption { scale: Some(scale), ..caption.clone() };
        let graph = svg::draw_graph(&profile(1), &scaled).unwrap();
        let asked = graph.split_once(" width=\"").unwrap().1.split('"').next().unwrap();
        asked.parse::<u64>().unwrap()
    };
    let total = profile(1).total();
    assert_eq!((width(total), width(2 * total), width(100 * total)), (1200, 600, 200));
}

/// Symbols come from kernels and programs that others made, titles from experiment files.
#[test]
fn names_of_strangers_neither_steer_a_terminal_nor_leave_the_text_of_a_graph() {
    let name = |n: u64| format!("f{n}\x1b[2J\u{9b}\u{202e}\u{7}</text><script>;x");
    let line = |n: u64| format!("{:x} t {}\n", KERNEL + n * 256, name(n));
    let text: String = (0..20).map(line).collect();
    let symbols = Symbols::from_kallsyms(&text).unwrap();
    let recording = Recording::parse(&write_recording(&make_recording())).unwrap();
    let attribution = Attribution::new(&recording, &symbols);
    let profile = |at: usize| attribution.profile_route(&recording.paths[0].routes[at]);
    let hostile = "\x1b]0;t\x07\n<script>\u{202e}".to_owned();
    let caption = svg::Caption { title: hostile.clone(), note: hostile, scale: None };
    let graph = svg::draw_graph(&profile(1), &caption).unwrap();
    let plain = svg::Caption { title: "t".to_owned(), note: "n".to_owned(), scale: None };
    let harmless = svg::draw_graph(&profile(1), &plain).unwrap();
    let difference = svg::draw_difference(&profile(0), &profile(1), &caption).unwrap();
    for text in [&graph, &difference] {
        let bad = text.lines().flat_map(str::chars).find(|&c| !irqpath_model::is_printable(c));
        assert_eq!(bad, None);
        assert!(text.contains(r"f6\x1b[2J"), "the name is shown");
        // The one script is the graph's own; the plain drawing has none.
        assert_eq!(text.matches("<script").count(), harmless.matches("<script").count());
        assert_eq!(text.matches("<script").count(), usize::from(cfg!(feature = "inferno")));
    }
}

proptest! {
    #[test]
    fn damage_is_an_error(at in 0usize..10_000, flip in 1u8..) {
        let mut bytes = write_recording(&make_recording());
        let at = at % bytes.len();
        bytes[at] ^= flip;
        prop_assert!(Recording::parse(&bytes).is_err());
    }

    #[test]
    fn a_cut_file_is_an_error(length in 0usize..10_000) {
        let bytes = write_recording(&make_recording());
        prop_assert!(Recording::parse(&bytes[..length % bytes.len()]).is_err());
    }

    /// A wrong writer with a right checksum: an error, or something that can be drawn.
    #[test]
    fn what_makes_no_sense_is_no_panic(at in 10usize..10_000, byte: u8) {
        let mut bytes = write_recording(&make_recording());
        let end = bytes.len() - 8;
        bytes[10 + at % (end - 10)] = byte;
        let sum = bytes[..end].iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
        if let Ok(recording) = Recording::parse(&bytes) {
            let attribution = Attribution::new(&recording, &make_symbols());
            for route in recording.paths.iter().flat_map(|path| &path.routes) {
                let profile = attribution.profile_route(route);
                prop_assert_eq!(profile.total(), route.length());
            }
        }
    }

    /// The parts of a growth always add up, and never explain less than 80 %.
    #[test]
    fn growth_adds_up(
        before in proptest::collection::btree_map((0u64..6, 0u64..6), 1u64..1000, 0..12),
        now in proptest::collection::btree_map((0u64..6, 0u64..6), 1u64..1000, 0..12),
    ) {
        let profile = |counts: &std::collections::BTreeMap<(u64, u64), u64>| {
            let stacks = counts.iter().map(|((a, b), &count)| {
                let frames = vec![Frame::from(format!("f{a}")), Frame::from(format!("g{b}"))];
                (profile::Stack { frames, entry: 0 }, count)
            });
            Profile { stacks: stacks.collect() }
        };
        let (before, now) = (profile(&before), profile(&now));
        let growth = Growth::between(&before, &now);
        let total = now.total().cast_signed() - before.total().cast_signed();
        prop_assert_eq!(growth.total, total);
        let explained: i64 = growth.frames.iter().map(|grown| grown.delta).sum();
        prop_assert_eq!(explained + growth.unexplained, total);
        prop_assert!(total <= 0 || explained * 100 >= total * 80);
        prop_assert!(growth.frames.iter().all(|grown| grown.delta > 0));
        prop_assert_eq!(growth.frames.is_empty(), total <= 0);
    }
}
