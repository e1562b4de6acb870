// SPDX-License-Identifier: GPL-2.0-or-later
//! OpenMetrics text, read as strictly as a scraper reads it.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::float_cmp)] // counts are whole

mod common;

use std::collections::{BTreeMap, HashSet};

use common::{names, summary};
use irqpath_model::{Comm, Owner, Summary, Unit, is_printable};
use irqpath_report::openmetrics::{
    self, AgentFacts, Buckets, DayClock, Exposed, Moment, Shown, StageRows,
};
use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model::MetricFamily;
use proptest::prelude::*;
use prost::Message as _;

/// A sample: name, labels, value.
type Sample = (String, BTreeMap<String, String>, f64);

/// `name="value",...` up to the closing brace; what follows it is returned, too.
fn labels(mut text: &str) -> Result<(BTreeMap<String, String>, &str), String> {
    let mut labels = BTreeMap::new();
    loop {
        if let Some(rest) = text.strip_prefix('}') {
            return Ok((labels, rest));
        }
        let (name, rest) = text.split_once("=\"").ok_or("a label without a value")?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!("label name {name}"));
        }
        let (mut value, mut chars) = (String::new(), rest.chars());
        loop {
            match chars.next().ok_or("an open label value")? {
                '"' => break,
                '\\' => match chars.next() {
                    Some('n') => value.push('\n'),
                    Some(c @ ('"' | '\\')) => value.push(c),
                    other => return Err(format!("escape {other:?}")),
                },
                c => value.push(c),
            }
        }
        if labels.insert(name.to_owned(), value).is_some() {
            return Err(format!("label {name} twice"));
        }
        text = chars.as_str();
        text = text.strip_prefix(',').unwrap_or(text);
    }
}

/// Every sample, or the first thing that a scraper would refuse the text for.
fn parse(text: &str) -> Result<Vec<Sample>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("no # EOF at the end")?;
    let (mut families, mut series, mut samples) = (HashSet::new(), HashSet::new(), Vec::new());
    let mut family = String::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (kind, name) = (words.next().unwrap(), words.next().ok_or(line)?);
            if !["HELP", "TYPE", "UNIT"].contains(&kind)
                || !families.insert(format!("{kind} {name}"))
            {
                return Err(format!("a second or unknown {kind} of {name}"));
            }
            name.clone_into(&mut family);
            continue;
        }
        let (name, rest) = line.split_once('{').ok_or_else(|| format!("no labels: {line}"))?;
        let (labels, value) = labels(rest).map_err(|e| format!("{e}: {line}"))?;
        let value: f64 = value.trim().parse().map_err(|e| format!("{e}: {line}"))?;
        if family.is_empty() || !name.starts_with(&family) {
            return Err(format!("{name} outside its family, {family}"));
        }
        if !series.insert((name.to_owned(), labels.clone())) {
            return Err(format!("a second sample of one series: {line}"));
        }
        samples.push((name.to_owned(), labels, value));
    }
    Ok(samples)
}

fn exposition(summary: &Summary) -> String {
    let mut out = Vec::new();
    let exposed = Exposed { summary: summary.clone(), names: names(), ..Exposed::default() };
    openmetrics::write(&mut out, exposed.into()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn openmetrics_states_counts_and_escapes_labels() {
    let text = exposition(&summary());
    for line in [
        r#"irqpath_hardirqs_total{origin="36:virtio1-req.0",cpu="0"} 300"#,
        r#"irqpath_hardirqs_total{origin="40:a,b \"quoted\"\\ and\\nnewline",cpu="0"} 5"#,
        r#"irqpath_softirqs_total{vec="block",cpu="0"} 300"#,
        r#"irqpath_napi_polls_total{cpu="0"} 4200"#,
        r#"irqpath_napi_packets_total{cpu="1"} 900"#,
        r#"irqpath_napi_budget_used_up_total{cpu="0"} 17"#,
        r#"irqpath_losses_total{reason="ringbuf_full",kind="lost"} 12"#,
        r#"irqpath_losses_total{reason="task_exit",kind="not_joined"} 3"#,
        r#"irqpath_losses_total{reason="clock_skew",kind="not_joined"} 0"#,
        r#"irqpath_path_seconds_count{origin="36:virtio1-req.0",via="block @cpu",target="fio",sched=""} 300"#,
    ] {
        let found = text.lines().any(|l| l == line || l == format!("{line}.0"));
        assert!(found, "{line} is not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn openmetrics_buckets_rise_to_the_count() {
    let text = exposition(&summary());
    let is_bucket = |line: &&str| {
        line.starts_with("irqpath_path_seconds_bucket{") && line.contains("\"36:virtio1-req.0\"")
    };
    let values: Vec<u64> = text
        .lines()
        .filter(is_bucket)
        .map(|l| l.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(values.is_sorted());
    assert_eq!(values.last(), Some(&300));
    // 4.1 us lies in the bucket up to 5 us, nothing below.
    let up_to = |le: &str| {
        let line = text.lines().find(|l| is_bucket(l) && l.contains(le)).unwrap();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(up_to("le=\"0.000005\""), 40);
    assert_eq!(up_to("le=\"0.000002\""), 0);
}

#[test]
fn empty_input_is_a_complete_document() {
    parse(&exposition(&Summary::default())).unwrap();
}

/// The sum of a sample over all series that `wanted` takes.
fn sum(samples: &[Sample], name: &str, target: &str) -> f64 {
    let is_wanted = |s: &&Sample| s.0 == name && s.1.get("target").is_some_and(|t| t == target);
    samples.iter().filter(is_wanted).map(|s| s.2).sum()
}

/// Old results, and files of others, may have names that are the same once they are printable.
#[test]
fn names_that_decode_to_the_same_text_are_one_series() {
    let mut doubled = summary();
    let twice = doubled.traced_mut().unwrap();
    let mut other = twice.paths[0].clone();
    for (path, stored) in [(&mut twice.paths[0], "a\u{9b}"), (&mut other, "a\\u{9b}")] {
        path.key.comm = Comm::from_stored(stored);
    }
    let (of_one, of_other) = (twice.paths[0].total.n, other.total.n);
    twice.paths.push(other);
    twice.lines.push(twice.lines[0].clone());
    let text = exposition(&doubled);
    let samples = parse(&text).unwrap();
    let count = sum(&samples, "irqpath_path_seconds_count", "a\\u{9b}");
    assert_eq!(count, (of_one + of_other) as f64, "{text}");
    let buckets: Vec<f64> = samples
        .iter()
        .filter(|s| s.0 == "irqpath_path_seconds_bucket" && s.1["target"] == "a\\u{9b}")
        .map(|s| s.2)
        .collect();
    assert!(buckets.is_sorted() && buckets.last() == Some(&count), "{buckets:?}");
    let hardirqs = |summary: &Summary| {
        let samples = parse(&exposition(summary)).unwrap();
        samples.iter().find(|s| s.0 == "irqpath_hardirqs_total").unwrap().2
    };
    assert_eq!(hardirqs(&doubled), 2.0 * hardirqs(&summary()));
}

proptest! {
    #[test]
    fn any_names_make_a_text_that_a_scraper_takes(
        names in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..16), 1..6),
        origin in any::<String>(),
    ) {
        let mut summary = summary();
        let traced = summary.traced_mut().unwrap();
        let path = traced.paths[0].clone();
        traced.paths = names.iter().map(|bytes| {
            let mut path = path.clone();
            path.key.comm = Comm::from_bytes(bytes);
            path.origin_name.clone_from(&origin);
            path
        }).collect();
        let text = exposition(&summary);
        let samples = parse(&text);
        prop_assert!(samples.is_ok(), "{:?} {}", samples.err(), text);
        let bad = text.chars().find(|&c| c != '\n' && !is_printable(c));
        prop_assert_eq!(bad, None);
    }
}

/// Every family, as a scraper reads them.
fn read_families(mut bytes: &[u8]) -> Vec<MetricFamily> {
    let mut families = Vec::new();
    while !bytes.is_empty() {
        families.push(MetricFamily::decode_length_delimited(&mut bytes).unwrap());
    }
    families
}

fn exposed(summary: Summary, shown: Shown) -> Exposed {
    let clock = Some(DayClock::new(Moment { day_ns: 5, boot_ns: 3, stamp_ns: 3 }));
    let agent = AgentFacts { clock, ..AgentFacts::default() };
    Exposed { summary, names: names(), shown, agent: Some(agent) }
}

#[test]
fn native_histograms_hold_the_same_times() {
    let summary = summary();
    let shown = Shown { buckets: Buckets { classic: false, native: true }, ..Shown::default() };
    let families = read_families(
        &openmetrics::encode_protobuf(exposed(summary.clone(), shown).into()).unwrap(),
    );
    let names: HashSet<_> = families.iter().map(|family| family.name.clone()).collect();
    assert_eq!(names.len(), families.len(), "a family comes once");
    let paths = families.iter().find(|f| f.name == "irqpath_path_seconds").unwrap();
    assert_eq!(paths.metric.len(), summary.traced().paths.len());
    for metric in &paths.metric {
        let histogram = metric.histogram.as_ref().unwrap();
        assert!(histogram.bucket.is_empty() && histogram.start_timestamp.is_some());
        let spans: u32 = histogram.positive_span.iter().map(|span| span.length).sum();
        assert_eq!(spans as usize, histogram.positive_delta.len());
        let (mut count, mut all) = (0, 0);
        for delta in &histogram.positive_delta {
            count += delta;
            all += count;
        }
        assert_eq!(u64::try_from(all).unwrap() + histogram.zero_count, histogram.sample_count);
    }
}

#[test]
fn eighteen_paths_are_at_most_a_hundred_series() {
    let mut summary = summary();
    let traced = summary.traced_mut().unwrap();
    let mut like = traced.paths[0].clone();
    for path in &traced.paths {
        if path.stages.len() > like.stages.len() {
            like = path.clone();
        }
    }
    // Three tasks for each of six lines: more than most machines have.
    traced.paths = (0..18)
        .map(|at: u32| {
            let mut path = like.clone();
            path.origin_name = format!("{}:eth{}", at / 3, at / 3);
            path.key.comm = format!("task{at}").as_str().into();
            path
        })
        .collect();
    let shown = Shown {
        buckets: Buckets { classic: false, native: true },
        stages: StageRows::Origins,
        per_cpu: false,
    };
    let families =
        read_families(&openmetrics::encode_protobuf(exposed(summary, shown).into()).unwrap());
    let of = |name: &str| {
        families.iter().filter(|f| f.name.starts_with(name)).map(|f| f.metric.len()).sum::<usize>()
    };
    let all = of("irqpath_path") + of("irqpath_stage");
    assert_eq!((of("irqpath_path_seconds"), of("irqpath_path_max_seconds")), (18, 18));
    assert!(all <= 100, "{all} series");
}

/// Prometheus refuses more (OpenMetrics 1.0, "Exemplars").
const MAX_EXEMPLAR: usize = 128;

#[test]
fn exemplars_point_to_slow_paths_within_the_limit() {
    let mut summary = summary();
    let traced = summary.traced_mut().unwrap();
    let slow = &mut traced.slow[0];
    // The longest labels that there can be.
    slow.record.target.comm = Comm::from_bytes(&[0x9b; 15]);
    slow.record.target.tid = u32::MAX;
    for cause in slow.stages.iter_mut().flat_map(|stage| &mut stage.causes) {
        cause.who = "\"\\\u{1b}".repeat(100);
    }
    traced.paths[0].key = slow.record.key();
    let total = slow.record.total_ns() as f64 / 1e9;
    let first = slow.record.first().unwrap().ns.to_string();
    for classic in [true, false] {
        let shown = Shown { buckets: Buckets { classic, native: true }, ..Shown::default() };
        let bytes = openmetrics::encode_protobuf(exposed(summary.clone(), shown).into()).unwrap();
        let families = read_families(&bytes);
        let paths = families.into_iter().find(|f| f.name == "irqpath_path_seconds").unwrap();
        let histograms = paths.metric.into_iter().filter_map(|metric| metric.histogram);
        let found: Vec<_> = histograms
            .flat_map(|h| {
                h.exemplars.into_iter().chain(h.bucket.into_iter().filter_map(|b| b.exemplar))
            })
            .collect();
        assert_eq!(found.len(), 1, "classic {classic}");
        assert_eq!((found[0].value, &found[0].label[0].value), (total, &first));
        let pairs = found[0].label.iter();
        let length: usize = pairs.map(|p| p.name.chars().count() + p.value.chars().count()).sum();
        assert!(length <= MAX_EXEMPLAR, "{length}: {:?}", found[0].label);
        assert!(found[0].timestamp.is_some());
    }
    let mut out = Vec::new();
    openmetrics::write_with_exemplars(&mut out, exposed(summary.clone(), Shown::default()).into())
        .unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" # {")).collect();
    let [line] = lines[..] else { panic!("{lines:?}") };
    let le: f64 = line.split("le=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    assert!(line.starts_with("irqpath_path_seconds_bucket{") && le >= total, "{line}");
    assert!(line.contains(&format!("ns=\"{first}\"")), "{line}");
    // Without them, it is the text that older scrapers read.
    let bare: String =
        text.lines().map(|line| line.split(" # {").next().unwrap().to_owned() + "\n").collect();
    let mut plain = Vec::new();
    openmetrics::write(&mut plain, exposed(summary, Shown::default()).into()).unwrap();
    assert_eq!(bare, String::from_utf8(plain).unwrap());
}

#[test]
fn units_have_their_labels_and_exemplars() {
    let unit = Unit::from_path("/kubepods/pod8daa50c3a64c9ff60bb9eab7b44b56fd/x");
    let owners = [(7, Owner::Unit(unit)), (8, Owner::Gone), (9, Owner::Unseen)];
    let mut summary = summary();
    let traced = summary.traced_mut().unwrap();
    traced.slow.truncate(1);
    traced.slow[0].record.cgroup = Some(7);
    let mut like = traced.paths[0].clone();
    like.key = traced.slow[0].record.key();
    // Of the last one, nobody knows the name yet.
    traced.paths = (7..=10)
        .map(|cgroup| {
            let mut path = like.clone();
            path.key.cgroup = Some(cgroup);
            path
        })
        .collect();
    let mut exposed = exposed(summary, Shown::default());
    exposed.agent.as_mut().unwrap().units = owners.into();
    let mut out = Vec::new();
    openmetrics::write_with_exemplars(&mut out, exposed.into()).unwrap();
    let text = String::from_utf8(out).unwrap();
    let counts: Vec<&str> =
        text.lines().filter(|line| line.starts_with("irqpath_path_seconds_count{")).collect();
    let has = |labels: &str| counts.iter().filter(|line| line.contains(labels)).count();
    assert_eq!(counts.len(), 3, "{counts:?}");
    assert_eq!(
        has(",unit=\"x\",pod_uid=\"8daa50c3a64c9ff60bb9eab7b44b56fd\",sched="),
        1,
        "{counts:?}"
    );
    assert_eq!(has(",unit=\"gone\",sched="), 1, "{counts:?}");
    assert_eq!(has(",unit=\"unknown\",sched="), 1, "{counts:?}");
    assert!(counts.iter().all(|line| !line.contains("target=")), "{counts:?}");
    let exemplars: Vec<&str> = text.lines().filter(|line| line.contains(" # {")).collect();
    let [line] = exemplars[..] else { panic!("{exemplars:?}") };
    assert!(line.contains(",unit=\"x\",") && line.contains(" # {ns=\""), "{line}");
}

/// Seconds since 1970 of the exemplar in the text.
fn exemplar_at(exposed: Exposed) -> f64 {
    let mut out = Vec::new();
    openmetrics::write_with_exemplars(&mut out, exposed.into()).unwrap();
    let text = String::from_utf8(out).unwrap();
    let line = text.lines().find(|line| line.contains(" # {")).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn exemplars_move_with_a_clock_that_is_set() {
    let mut summary = summary();
    let traced = summary.traced_mut().unwrap();
    traced.paths[0].key = traced.slow[0].record.key();
    let stamp_ns = traced.slow[0].record.first().unwrap().ns;
    let at = |day_s: &[u64]| {
        let moments =
            day_s.iter().map(|s| Moment { day_ns: s * 1_000_000_000, boot_ns: stamp_ns, stamp_ns });
        let mut clock: Option<DayClock> = None;
        for moment in moments {
            match &mut clock {
                None => clock = Some(DayClock::new(moment)),
                Some(clock) => assert!(clock.follow(moment).is_some()),
            }
        }
        let mut exposed = exposed(summary.clone(), Shown::default());
        exposed.agent.as_mut().unwrap().clock = clock;
        exemplar_at(exposed)
    };
    for (day_s, want) in [
        (&[60, 1_750_000_000][..], 1_750_000_000),
        (&[1_850_000_000, 1_750_000_000], 1_750_000_000),
        (&[60, 1_850_000_000, 1_750_000_000], 1_750_000_000),
    ] {
        assert!((at(day_s) - f64::from(want)).abs() < 0.001, "{day_s:?}");
    }
}
