// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of the command line: lengths of time, thresholds and buckets, in the units that people
//! write. Used by `cli` as value parsers, so each error is one clause that says what is accepted.

use std::time::Duration;

use jiff::SignedDuration;

/// Longest time accepted anywhere: 30 days. Longer ones are typing errors.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// One number with one unit may have any fraction (`.5s`, what `bc` prints); several of them
/// (`1h30m`) are read as jiff reads them.
fn parse_length(text: &str, default_unit: &str) -> Option<Duration> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = match text.split_at(end) {
        (number, "") => (number, default_unit),
        with_unit => with_unit,
    };
    let parse = |text: &str| text.parse::<SignedDuration>().ok();
    let duration = if unit.contains(|c: char| c.is_ascii_digit()) {
        Duration::try_from(parse(text)?).ok()?
    } else {
        let one = parse(&format!("1{unit}"))?.as_secs_f64();
        Duration::try_from_secs_f64(number.parse::<f64>().ok()? * one).ok()?
    };
    (!duration.is_zero() && duration <= LONGEST).then_some(duration)
}

/// A number of Hz within the range that timers and loads can keep.
fn parse_hz(text: &str) -> Option<f64> {
    let number = text.trim().trim_end_matches("Hz").trim_end();
    number.parse().ok().filter(|hz| (0.02..=100_000.0).contains(hz))
}

/// A length of time: `10s`, `500ms`, `1h30m`; a plain number means seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    parse_length(text, "s")
        .ok_or_else(|| "write a time above 0 and up to 30 days as 10s, 500ms, 1m or 2h".to_owned())
}

/// A threshold or bucket in ns: `50`, `0.5`, `2ms`; a plain number means microseconds.
pub fn parse_microseconds(text: &str) -> Result<u64, String> {
    parse_length(text, "us")
        .and_then(|d| u64::try_from(d.as_nanos()).ok())
        .ok_or_else(|| "write microseconds above 0, as 50 or 0.5, or a time as 2ms".to_owned())
}

/// A rate as the time between two runs in us: `50`, `26.3`, `25.6Hz`.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    parse_hz(text)
        .map(|hz| (1e6 / hz).round() as u64)
        .ok_or_else(|| "write runs per second, from 0.02 to 100000, as 50 or 26.3".to_owned())
}

/// A frequency in Hz: `2048`, `0.5`, `1000Hz`.
pub fn parse_frequency(text: &str) -> Result<f64, String> {
    parse_hz(text)
        .ok_or_else(|| "write interrupts per second, from 0.02 to 100000, as 2048".to_owned())
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
            ("1.5 s", 1_500),
            (".5s", 500),
            (".33333333333333333333", 333),
            ("90min", 5_400_000),
            ("1h30m", 5_400_000),
        ] {
            let found_ms = parse_duration(text).map(|found| found.as_millis());
            assert_eq!(found_ms, Ok(want_ms), "{text}");
        }
        for (text, want_ns) in [("50", 50_000), ("0.5", 500), ("2ms", 2_000_000), ("7us", 7_000)] {
            assert_eq!(parse_microseconds(text), Ok(want_ns), "{text}");
        }
    }

    #[test]
    fn rates_become_delays() {
        for (text, want_us) in [("50", 20_000), ("26.3", 38_023), ("25.6Hz", 39_063), ("1e5", 10)] {
            assert_eq!(parse_rate(text), Ok(want_us), "{text}");
        }
        for text in ["", "0", "-3", "NaN", "inf", "1e9", "fast"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frequencies_are_numbers_with_or_without_their_unit() {
        for (text, want) in [("2048", 2048.0), ("0.5", 0.5), (" 1000 Hz", 1000.0)] {
            assert_eq!(parse_frequency(text), Ok(want), "{text}");
        }
        for text in ["", "0", "-3", "NaN", "1e9", "fast", "2kHz"] {
            assert!(parse_frequency(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_advice() {
        for text in
            ["", "s", "0", "-1", "1s ago", "1 parsec", "1e9h", "999999h", "..", "inf", "NaN"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
            assert!(parse_microseconds(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_an_error(text in ".{0,24}") {
            let _ = parse_duration(&text);
            let _ = parse_microseconds(&text);
        }
    }
}
