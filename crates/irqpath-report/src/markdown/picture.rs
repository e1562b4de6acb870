// SPDX-License-Identifier: GPL-2.0-or-later
//! A picture for the summary: a row for each series or kernel, with a line from Q05 to Q95, a dot
//! at the median and a mark at the maximum.
//!
//! The scale is logarithmic where the values need it. The picture has no script and no font.

use irqpath_model::Reproduction;
use maud::{Markup, html};

use super::papers::{Figure, Shown};
use crate::html::escape_markup;
use crate::reproduction::figure_name;
use crate::text::group_digits;

const WIDTH: f64 = 900.0;
/// Where the rows' names end.
const LEFT: f64 = 300.0;
const RIGHT: f64 = 45.0;
const ROW: f64 = 20.0;
const TOP: f64 = 34.0;
/// Ratio of the largest to the smallest value from which the scale is logarithmic.
const LOGARITHMIC: f64 = 4.0;

struct Row {
    name: String,
    low: f64,
    middle: f64,
    high: f64,
    max: f64,
}

/// The picture, or none where the table lacks its figures.
pub(super) fn draw_figure(table: &Reproduction, figure: &Figure) -> Option<String> {
    let rows = figure_rows(table, figure);
    let values = || rows.iter().flat_map(|row| [row.low, row.max]).filter(|value| *value > 0.0);
    let (min, max) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    Some(draw_rows(&rows, &Scale::from_range(min, max), figure.caption))
}

fn figure_rows(table: &Reproduction, figure: &Figure) -> Vec<Row> {
    let experiment = table.experiments.iter().find(|it| it.id == figure.experiment);
    let Some(experiment) = experiment else { return Vec::new() };
    match figure.shown {
        Shown::Interval(interval) => {
            let figures = experiment.figures.iter().filter(|row| row.interval == interval);
            let one_kernel = experiment.variants.len() < 2;
            let row = |row: &irqpath_model::Figures| {
                let series =
                    if interval.is_empty() { figure_name(row) } else { row.series.clone() };
                let name = if one_kernel { series } else { format!("{}, {series}", row.variant) };
                let q = row.quantiles;
                let [low, middle, high, max] =
                    [q.q05_ns, q.q50_ns, q.q95_ns, q.max_ns].map(|ns| ns as f64);
                Row { name, low, middle, high, max }
            };
            figures.map(row).collect()
        }
        Shown::Claim(words) => {
            let claim = experiment.claims.iter().find(|claim| claim.claim == words);
            let outcomes = claim.into_iter().flat_map(|claim| &claim.outcomes);
            let row = |outcome: &irqpath_model::Outcome| {
                let value = outcome.ours.parse().ok()?;
                let name = outcome.variant.clone();
                Some(Row { name, low: value, middle: value, high: value, max: value })
            };
            outcomes.filter_map(row).collect()
        }
    }
}

struct Scale {
    min: f64,
    max: f64,
    is_logarithmic: bool,
}

impl Scale {
    fn from_range(min: f64, max: f64) -> Self {
        let is_logarithmic = max / min > LOGARITHMIC;
        let (min, max) = if is_logarithmic {
            (10_f64.powf(min.log10().floor()), 10_f64.powf(max.log10().ceil()))
        } else {
            let step = round_step(max - min);
            ((min / step).floor() * step, (max / step).ceil() * step)
        };
        Self { min, max, is_logarithmic }
    }

    fn x_of(&self, value: f64) -> f64 {
        let value = value.max(self.min);
        let part = if self.is_logarithmic {
            (value / self.min).log10() / (self.max / self.min).log10()
        } else {
            (value - self.min) / (self.max - self.min)
        };
        LEFT + part * (WIDTH - LEFT - RIGHT)
    }

    fn tick_values(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let decades = (self.max / self.min).log10().round() as i32;
            (0..=decades).map(|at| self.min * 10_f64.powi(at)).collect()
        } else {
            let step = round_step(self.max - self.min);
            let nr = ((self.max - self.min) / step).round() as i32;
            (0..=nr).map(|at| self.min + step * f64::from(at)).collect()
        }
    }
}

/// 1, 2 or 5 times a power of ten, about a fifth of the span.
fn round_step(span: f64) -> f64 {
    let fifth = (span / 5.0).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(fifth.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|s| *s >= fifth)
        .unwrap_or(fifth)
}

fn draw_rows(rows: &[Row], scale: &Scale, caption: &str) -> String {
    let height = TOP + ROW * (rows.len() as f64 + 1.5);
    let bottom = TOP + ROW * rows.len() as f64 + 4.0;
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) }
            font-family="sans-serif" font-size="12" {
            title { (caption) }
            rect width="100%" height="100%" fill="#fff" {}
            text x="8" y="18" font-weight="bold" { (caption) } "\n"
            @for tick in scale.tick_values() {
                @let x = format!("{:.1}", scale.x_of(tick));
                path d=(format!("M{x} {TOP}V{bottom:.1}")) stroke="#ddd" {}
                text x=(x) y=(format!("{:.1}", bottom + 16.0)) text-anchor="middle" {
                    (short_number(tick))
                } "\n"
            }
            @for (row, at) in rows.iter().zip(0..) {
                (draw_row(row, scale, TOP + ROW * (f64::from(at) + 0.5))) "\n"
            }
        }
    };
    escape_markup(svg).into_string() + "\n"
}

fn draw_row(row: &Row, scale: &Scale, y: f64) -> Markup {
    let [low, middle, high, max] = [row.low, row.middle, row.high, row.max].map(|v| scale.x_of(v));
    html! {
        text x=(LEFT - 10.0) y=(format!("{:.1}", y + 4.0)) text-anchor="end" { (row.name) }
        path d=(format!("M{low:.1} {y:.1}H{high:.1}")) stroke="#26c" stroke-width="4" {}
        path d=(format!("M{max:.1} {:.1}v8", y - 4.0)) stroke="#c33" stroke-width="2" {}
        circle cx=(format!("{middle:.1}")) cy=(format!("{y:.1}")) r="4" fill="#136" {}
    }
}

fn short_number(value: f64) -> String {
    if value >= 10.0 { group_digits(value.round() as u64) } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_logarithmic_where_values_are_far_apart() {
        let far = Scale::from_range(3.0, 700.0);
        assert_eq!((far.is_logarithmic, far.tick_values()), (true, vec![1.0, 10.0, 100.0, 1000.0]));
        let near = Scale::from_range(101.0, 124.0);
        assert_eq!(near.tick_values(), [100.0, 105.0, 110.0, 115.0, 120.0, 125.0]);
        assert!((near.x_of(100.0) - LEFT).abs() < 0.1 && near.x_of(125.0) < WIDTH);
    }

    #[test]
    fn names_of_rows_are_text() {
        let row = Row { name: "<b>&".into(), low: 1.0, middle: 2.0, high: 3.0, max: 4.0 };
        let svg = draw_rows(&[row], &Scale::from_range(1.0, 4.0), "a < b");
        assert!(svg.contains(">&lt;b&gt;&amp;<") && svg.contains("a &lt; b"), "{svg}");
    }
}
