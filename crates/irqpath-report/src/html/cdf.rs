// SPDX-License-Identifier: GPL-2.0-or-later
//! Cumulative distributions as one SVG without a script: which share of the lengths of a series is
//! at most so long. The axis of lengths is logarithmic, so that tails and medians fit in one picture;
//! every curve has its name and its median beside it, not only a colour.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::document::escape_markup;
use crate::text::group_digits;

/// One series of a picture, a line in it.
#[derive(Debug, Clone, Copy)]
pub struct Curve<'a> {
    /// The name that stands beside the line.
    pub name: &'a str,
    /// Its lengths, in any order.
    pub lengths: &'a [u64],
}

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 900.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 396.0;
/// Told apart by people who do not see all colours, too: by lightness, and every second time by dashes.
const COLOURS: [&str; 6] = ["#1b3a6b", "#c8501e", "#2b8a5f", "#8e44ad", "#b8860b", "#5a6b7b"];
const SHARES: [f64; 6] = [0.0, 0.25, 0.5, 0.75, 0.95, 1.0];

/// The axis of lengths.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn from_curves(curves: &[Curve<'_>]) -> Option<Self> {
        let all = || curves.iter().flat_map(|curve| curve.lengths).copied();
        let (min, max) = (all().min()?.max(1), all().max()?.max(1));
        // A single length has a picture, too.
        Some(Self { low: (min as f64 * 0.95).ln(), high: (max as f64 * 1.05).ln() })
    }

    fn x_of(&self, length: u64) -> f64 {
        let share = ((length.max(1) as f64).ln() - self.low) / (self.high - self.low);
        LEFT + share * (RIGHT - LEFT)
    }

    /// 1, 2 and 5 of each power of ten that lie on it, or finer where that is too few.
    fn tick_lengths(&self) -> Vec<u64> {
        let on_it = |steps: &[u64]| {
            let powers = (0..19).map(|power| 10_u64.pow(power));
            let all =
                powers.flat_map(|power| steps.iter().filter_map(move |s| s.checked_mul(power)));
            let inside = |tick: &u64| (self.low..=self.high).contains(&(*tick as f64).ln());
            all.filter(inside).collect::<Vec<_>>()
        };
        let coarse = on_it(&[1, 2, 5]);
        if coarse.len() > 2 { coarse } else { on_it(&[1, 2, 3, 4, 5, 6, 7, 8, 9]) }
    }
}

fn y_of(share: f64) -> f64 {
    BOTTOM - share * (BOTTOM - TOP)
}

/// The picture; none if there are no lengths. `unit` is that of the lengths.
pub fn draw_cdf(title: &str, unit: &str, curves: &[Curve<'_>]) -> Option<String> {
    let axis = Axis::from_curves(curves)?;
    let drawn = curves.iter().filter(|curve| !curve.lengths.is_empty());
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
            width=(WIDTH) height=(HEIGHT) font-family="sans-serif" font-size="13" {
            rect width="100%" height="100%" fill="#fff" {}
            text x=(LEFT) y="22" font-size="15" { (title) }
            (draw_axes(&axis, unit))
            @for (at, curve) in drawn.enumerate() { (draw_curve(&axis, curve, at)) }
        }
    };
    Some(escape_markup(svg).into_string())
}

fn draw_axes(axis: &Axis, unit: &str) -> Markup {
    let mut free = 0.0;
    // The ticks with those numbers that do not run into the one before.
    let ticks = axis.tick_lengths().into_iter().map(|tick| {
        let x = axis.x_of(tick);
        let has_room = x >= free;
        if has_room {
            free = x + 60.0;
        }
        (x, has_room.then(|| group_digits(tick)))
    });
    html! {
        @for share in SHARES {
            path d=(format!("M{LEFT} {:.1}H{RIGHT}", y_of(share))) stroke="#ddd" {}
            text x=(LEFT - 6.0) y=(format!("{:.1}", y_of(share) + 4.0)) text-anchor="end" {
                (share * 100.0) " %"
            }
        }
        @for (x, number) in ticks {
            path d=(format!("M{x:.1} {TOP}V{BOTTOM}")) stroke="#eee" {}
            @if let Some(number) = number {
                text x=(format!("{x:.1}")) y=(BOTTOM + 18.0) text-anchor="middle" { (number) }
            }
        }
        text x=(RIGHT) y=(BOTTOM + 36.0) text-anchor="end" { (unit) }
    }
}

fn draw_curve(axis: &Axis, curve: &Curve<'_>, at: usize) -> Markup {
    let mut lengths = curve.lengths.to_vec();
    lengths.sort_unstable();
    let nr = lengths.len();
    let share = |upto: usize| upto as f64 / nr as f64;
    let mut path = format!("M{:.1} {:.1}", axis.x_of(lengths[0]), y_of(0.0));
    let half_pixel = |length| (axis.x_of(length) * 2.0) as u32;
    let mut done = 0;
    // A step for each half pixel that has lengths.
    for steps in lengths.chunk_by(|a, b| half_pixel(*a) == half_pixel(*b)) {
        done += steps.len();
        // Writing to a String cannot fail.
        let _ = write!(path, "H{:.1}V{:.1}", axis.x_of(steps[0]), y_of(share(done)));
    }
    let colour = COLOURS[at % COLOURS.len()];
    let dashes = (at / COLOURS.len() % 2 == 1).then_some("6 3");
    let label = format!("{}, median {}", curve.name, group_digits(lengths[(nr - 1) / 2]));
    let row = TOP + 12.0 + 26.0 * at as f64;
    html! {
        g fill="none" stroke=(colour) stroke-width="2" stroke-dasharray=[dashes] {
            path d=(path) { title { (label) } }
            path d=(format!("M{} {row}h28", RIGHT + 20.0)) {}
        }
        text x=(RIGHT + 56.0) y=(row + 4.0) { (label) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_from_its_shortest_to_its_longest_length() {
        let curves = [
            Curve { name: "a < b", lengths: &[300, 100, 200, 200] },
            Curve { name: "empty", lengths: &[] },
        ];
        let svg = draw_cdf("t", "ns", &curves).unwrap();
        let axis = Axis::from_curves(&curves).unwrap();
        let steps = [(100, 0.25), (200, 0.75), (300, 1.0)];
        let steps =
            steps.map(|(length, share)| format!("H{:.1}V{:.1}", axis.x_of(length), y_of(share)));
        let path = format!("M{:.1} {:.1}{}", axis.x_of(100), y_of(0.0), steps.concat());
        assert!(svg.contains(&path), "{svg}");
        assert!(svg.contains("a &lt; b, median 200</text>"), "{svg}");
        assert!(!svg.contains("empty"), "{svg}");
    }

    #[test]
    fn lengths_that_are_all_the_same_have_a_picture() {
        let curve = |lengths| draw_cdf("t", "ns", &[Curve { name: "a", lengths }]);
        assert!(curve(&[7, 7]).unwrap().contains("median 7"));
        assert!(curve(&[0]).unwrap().contains("median 0"));
        assert_eq!(curve(&[]), None);
    }

    #[test]
    fn what_is_closer_than_half_a_pixel_is_one_step() {
        let lengths: Vec<u64> = (0..50_000).map(|n| 1_000_000 + n).collect();
        let svg = draw_cdf("t", "ns", &[Curve { name: "a", lengths: &lengths }]).unwrap();
        assert!(svg.len() < 60_000, "{}", svg.len());
    }
}
