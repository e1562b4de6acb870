// SPDX-License-Identifier: GPL-2.0-or-later
//! The path of some series, every instruction of it attributed: the median and the worst
//! instance, and why the slow ones are slow.
//!
//! The recording has one instance per repetition, in order, of one series after the other, each
//! with its first `skip` that warm up; the claims check that the lengths agree, so that an instance
//! too many cannot pass unnoticed. The rule: a slow instance is explained by what it executed more
//! than the median one, and growth that no symbol names stays unexplained.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use irqpath_files::output::{Directory, OutputError};

use crate::experiment::definition::FlamePath;
use crate::flame::svg::{self, Caption};
use crate::flame::{
    Attribution, Comparison, EXPLAINED, FlameError, Grown, Growth, PathMarks, PathRecording,
    Profile, Recording, Symbols,
};

/// Functions in the name of a cause at most.
const NAMED_FUNCTIONS: usize = 3;

/// Names for slow instances: the cause, and how many it made slow.
pub type Causes = BTreeMap<String, u64>;

/// What the recording of a path says of one series.
#[derive(Debug)]
pub struct Attributed {
    pub series: String,
    /// Instructions of the median instance.
    pub median: Profile,
    /// Instructions of the longest one.
    pub worst: Profile,
    /// Cache lines that the median instance's instructions lie in.
    pub code_lines: u64,
    pub nr_instances: u64,
    /// Share of the instances that executed a function, percent, of those asked for.
    pub ran: Vec<(String, f64)>,
    /// Instances longer than the 95 % quantile.
    pub nr_slow: u64,
    /// Those of them whose growth has no name.
    pub nr_unexplained: u64,
    /// What made the others slow.
    pub causes: Causes,
    /// Instructions that the guest's stamps lie further apart than the marks, the same for every
    /// instance: a stamp is not its mark.
    pub offset: i64,
    /// The instances beside what the guest measured, less `offset`.
    pub agreement: Comparison,
}

/// A series that the recording has: its name, and the guest's own lengths of its paths.
pub type Measured<'a> = (&'a str, &'a [u64]);

/// Reads a recording and the guest's symbols.
pub fn attribute_paths(
    recording: &Path,
    kallsyms: &str,
    flame: &FlamePath,
    series: &[Measured<'_>],
) -> Result<Vec<Attributed>, FlameError> {
    let recording = Recording::read(recording)?;
    let symbols = Symbols::from_kallsyms(kallsyms)?;
    let marks = PathMarks { from: flame.from, to: flame.to };
    let none =
        || FlameError::Draw { reason: format!("no path from mark {} to {}", flame.from, flame.to) };
    let whole = recording.find_path(marks).ok_or_else(none)?;
    let attribution = Attribution::new(&recording, &symbols);
    let mut start = 0;
    let mut of_series = |measured: &Measured<'_>| {
        let path = slice_instances(whole, start + flame.skip, measured.1.len());
        start += flame.skip + measured.1.len();
        let of = (&recording, &path);
        let mut found = attribute_series(of, &attribution, measured).ok_or_else(none)?;
        found.ran = measure_executed(&path, &attribution, &flame.functions);
        Ok(found)
    };
    series.iter().map(&mut of_series).collect()
}

/// The instances of one series; none if there is no instance.
fn attribute_series(
    (recording, path): (&Recording, &PathRecording),
    attribution: &Attribution<'_>,
    (series, measured): &Measured<'_>,
) -> Option<Attributed> {
    let offset = usual_offset(path, measured);
    let shifted: Vec<u64> =
        measured.iter().map(|length| length.saturating_add_signed(-offset)).collect();
    let at = |q: f64| path.quantile_index(q).and_then(|instance| path.route_of(instance));
    let code_lines = recording.count_code_lines(at(0.5)?);
    let (median, worst) =
        (attribution.profile_route(at(0.5)?), attribution.profile_route(at(1.0)?));
    let limit = path.quantile_index(0.95).map_or(0, |instance| path.instances[instance].length);
    let mut causes = Causes::new();
    let (mut nr_slow, mut nr_unexplained) = (0, 0);
    for (route, times) in routes_above(path, limit) {
        let growth = Growth::between(&median, &attribution.profile_route(&path.routes[route]));
        nr_slow += times;
        match name_growth(&growth) {
            Some(name) => *causes.entry(name).or_default() += times,
            None => nr_unexplained += times,
        }
    }
    Some(Attributed {
        series: (*series).to_owned(),
        median,
        worst,
        code_lines,
        nr_instances: path.instances.len() as u64,
        ran: Vec::new(),
        nr_slow,
        nr_unexplained,
        causes,
        offset,
        agreement: path.compare_lengths(&shifted),
    })
}

/// Share of the instances that executed each of the functions, percent.
fn measure_executed(
    path: &PathRecording,
    attribution: &Attribution<'_>,
    functions: &[String],
) -> Vec<(String, f64)> {
    let times = routes_above(path, 0);
    let all: u64 = times.values().sum();
    let share = |function: &String| {
        let ran = |route: &usize| attribution.executes(&path.routes[*route], function);
        let nr: u64 = times.iter().filter(|(route, _)| ran(route)).map(|(_, n)| n).sum();
        (function.clone(), percent_of(nr, all))
    };
    functions.iter().map(share).collect()
}

/// A part in percent; of nothing it is nothing.
fn percent_of(part: u64, all: u64) -> f64 {
    part as f64 * 100.0 / all.max(1) as f64
}

/// The most frequent difference between what was measured and what was counted.
fn usual_offset(path: &PathRecording, measured: &[u64]) -> i64 {
    let mut seen: BTreeMap<i64, usize> = BTreeMap::new();
    for (instance, length) in path.instances.iter().zip(measured) {
        *seen.entry(length.cast_signed() - instance.length.cast_signed()).or_default() += 1;
    }
    seen.into_iter().max_by_key(|(_, times)| *times).map_or(0, |(offset, _)| offset)
}

fn slice_instances(path: &PathRecording, skip: usize, count: usize) -> PathRecording {
    let instances = path.instances.iter().skip(skip).take(count).copied().collect();
    PathRecording { instances, ..path.clone() }
}

/// Routes of the instances above a limit, and how often they occur there.
fn routes_above(path: &PathRecording, limit: u64) -> BTreeMap<usize, u64> {
    let mut routes = BTreeMap::new();
    for instance in path.instances.iter().filter(|instance| instance.length > limit) {
        *routes.entry(instance.route).or_default() += 1;
    }
    routes
}

/// The functions that grew most, those below one entry together; none if symbols cannot tell the
/// larger part of the growth. Three say what a path met, the flame graphs have all.
fn name_growth(growth: &Growth) -> Option<String> {
    let known = |grown: &&Grown| grown.chain.last().is_some_and(|f| !f.starts_with('['));
    let known: Vec<_> = growth.frames.iter().filter(known).collect();
    let named: i64 = known.iter().map(|grown| grown.delta).sum();
    if named <= 0 || named * 100 < growth.total * EXPLAINED {
        return None;
    }
    let mut places: Vec<(&str, Vec<&str>)> = Vec::new();
    for grown in known.into_iter().take(NAMED_FUNCTIONS) {
        let (entry, function) = grown.place();
        match places.iter_mut().find(|(other, _)| *other == entry) {
            Some((_, functions)) if functions.contains(&function) => {}
            Some((_, functions)) => functions.push(function),
            None => places.push((entry, vec![function])),
        }
    }
    let place = |(entry, functions): &(&str, Vec<&str>)| match functions[..] {
        [only] if only == *entry => only.to_owned(),
        _ => format!("{} < {entry}", functions.join(", ")),
    };
    Some(places.iter().map(place).collect::<Vec<_>>().join("; "))
}

impl Attributed {
    /// Metrics of the series: `slow_runs`, `unexplained` (percent of them), `agree` (percent),
    /// `attributed` (the median's instructions), `code_lines` (the cache lines that those lie in), and
    /// `ran.FUNCTION` (percent).
    pub fn list_metrics(&self) -> Vec<(String, f64)> {
        let (same, other) = (self.agreement.nr_same() as u64, self.agreement.nr_other() as u64);
        let mut metrics = vec![
            ("slow_runs".to_owned(), self.nr_slow as f64),
            ("unexplained".to_owned(), percent_of(self.nr_unexplained, self.nr_slow)),
            ("agree".to_owned(), percent_of(same, same + other)),
            ("attributed".to_owned(), self.median.total() as f64),
            ("code_lines".to_owned(), self.code_lines as f64),
        ];
        metrics.extend(self.ran.iter().map(|(name, share)| (format!("ran.{name}"), *share)));
        metrics
    }

    /// The causes with how many they made slow, most frequent first.
    pub fn list_causes(&self) -> Vec<(&str, u64)> {
        let mut causes: Vec<_> =
            self.causes.iter().map(|(name, times)| (name.as_str(), *times)).collect();
        causes.sort_by_key(|(name, times)| (std::cmp::Reverse(*times), *name));
        causes
    }

    /// The same as lines.
    pub fn causes_text(&self) -> String {
        let lines = self.list_causes().into_iter().map(|(name, times)| format!("{times:8} {name}"));
        lines.chain([String::new()]).collect::<Vec<_>>().join("\n")
    }

    /// The flame graphs of the median and the worst path, with their titles. That of the median has the
    /// scale, if there is one.
    pub fn draw_graphs(
        &self,
        experiment: &str,
        variant: &str,
        scale: Option<u64>,
    ) -> io::Result<[(String, String); 2]> {
        let graph = |name: &str, profile, scale: Option<u64>| {
            let title = format!("{experiment} on {variant}, {}, {name} path", self.series);
            // A short path's graph is narrow, where there is a scale.
            let short = scale.map(|_| format!("{}, {name}", self.series));
            let title_in_it = short.unwrap_or_else(|| title.clone());
            let caption = Caption { title: title_in_it, note: String::new(), scale };
            svg::draw_graph(profile, &caption).map(|svg| (title, svg)).map_err(io::Error::other)
        };
        Ok([graph("median", &self.median, scale)?, graph("worst", &self.worst, None)?])
    }

    /// Writes the flame graphs, the folded stacks and the causes into a directory.
    pub fn write_files(
        &self,
        directory: &Directory,
        experiment: &str,
        variant: &str,
    ) -> Result<(), OutputError> {
        let series = &self.series;
        let profiles = [("median", &self.median), ("worst", &self.worst)];
        let mut graphs = self.draw_graphs(experiment, variant, None).map(IntoIterator::into_iter);
        for (name, profile) in profiles {
            let file = |suffix| format!("flame-{series}-{name}.{suffix}");
            directory.write(file("svg"), |file| match &mut graphs {
                Ok(graphs) => {
                    graphs.next().map_or(Ok(()), |(_, svg)| file.write_all(svg.as_bytes()))
                }
                Err(error) => Err(io::Error::other(error.to_string())),
            })?;
            directory.write(file("folded"), |f| f.write_all(profile.fold_stacks().as_bytes()))?;
        }
        let causes = self.causes_text();
        directory.write(format!("causes-{series}.txt"), |f| f.write_all(causes.as_bytes()))
    }
}
