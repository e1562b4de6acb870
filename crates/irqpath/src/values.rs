// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of the command line: lengths of time, thresholds and buckets, in the units that people
//! write. Used by `cli` as value parsers, so each error is one clause that says what is accepted.

use std::time::Duration;

/// Longest time accepted anywhere: 30 days. Longer ones are typing errors.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// Split `12.5ms` into its number and its unit.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

/// Seconds per unit; an absent unit means `default`.
fn seconds(unit: &str, default: f64) -> Option<f64> {
    Some(match unit {
        "" => default,
        "ns" => 1e-9,
        "us" | "\u{b5}s" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

fn length(text: &str, default_unit: f64) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let duration = Duration::try_from_secs_f64(number * seconds(unit, default_unit)?).ok()?;
    (!duration.is_zero() && duration <= LONGEST).then_some(duration)
}

/// A length of time: `10s`, `500ms`, `1m`, `2h`; a plain number means seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    length(text, 1.0)
        .ok_or_else(|| "write a time above 0 and up to 30 days as 10s, 500ms, 1m or 2h".to_owned())
}

/// A threshold or bucket in ns: `50`, `0.5`, `2ms`; a plain number means microseconds.
pub fn microseconds(text: &str) -> Result<u64, String> {
    length(text, 1e-6)
        .and_then(|d| u64::try_from(d.as_nanos()).ok())
        .ok_or_else(|| "write microseconds above 0, as 50 or 0.5, or a time as 2ms".to_owned())
}

/// A rate as the time between two runs in us: `50`, `26.3`, `25.6Hz`.
pub fn rate(text: &str) -> Result<u64, String> {
    let number = text.trim().trim_end_matches("Hz").trim_end();
    let hz: Option<f64> = number.parse().ok().filter(|hz| (0.02..=100_000.0).contains(hz));
    hz.map(|hz| (1e6 / hz).round() as u64)
        .ok_or_else(|| "write runs per second, from 0.02 to 100000, as 50 or 26.3".to_owned())
}

/// A frequency in Hz: `2048`, `0.5`, `1000Hz`.
pub fn frequency(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches("Hz").trim_end();
    let hz: Option<f64> = number.parse().ok().filter(|hz| (0.02..=100_000.0).contains(hz));
    hz.ok_or_else(|| "write interrupts per second, from 0.02 to 100000, as 2048".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, want_ms) in [
            ("10s", 10_000),
            ("500ms", 500),
            ("1m", 60_000),
            ("3", 3_000),
            ("2h", 7_200_000),
            (" 1.5s ", 1_500),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(want_ms)), "{text}");
        }
        for (text, want_ns) in [("50", 50_000), ("0.5", 500), ("2ms", 2_000_000), ("7us", 7_000)] {
            assert_eq!(microseconds(text), Ok(want_ns), "{text}");
        }
    }

    #[test]
    fn rates_become_delays() {
        for (text, want_us) in [("50", 20_000), ("26.3", 38_023), ("25.6Hz", 39_063), ("1e5", 10)] {
            assert_eq!(rate(text), Ok(want_us), "{text}");
        }
        for text in ["", "0", "-3", "NaN", "inf", "1e9", "fast"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frequencies_are_numbers_with_or_without_their_unit() {
        for (text, want) in [("2048", 2048.0), ("0.5", 0.5), (" 1000 Hz", 1000.0)] {
            assert_eq!(frequency(text), Ok(want), "{text}");
        }
        for text in ["", "0", "-3", "NaN", "1e9", "fast", "2kHz"] {
            assert!(frequency(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_advice() {
        for text in ["", "s", "0", "-1", "1x", "10 parsecs", "1e9h", "999999h", "..", "inf", "NaN"]
        {
            assert!(duration(text).is_err(), "{text}");
            assert!(microseconds(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_an_error(text in ".{0,24}") {
            let _ = duration(&text);
            let _ = microseconds(&text);
        }
    }
}
