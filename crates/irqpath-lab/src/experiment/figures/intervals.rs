// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of the small guest programs: CSV files with one column of stamps per point, and files
//! of `name value` lines.
//!
//! Stamps are of the cycle counter; in an exact guest that is instructions, which are
//! nanoseconds. A stamp of 0 means that the point was not reached in that repetition; lines that
//! begin with # are for people.

use crate::experiment::definition::Interval;

/// Lengths of one interval over all repetitions that have both ends, in file order.
pub fn read_lengths(csv: &str, interval: &Interval) -> Result<Vec<u64>, String> {
    let mut lines = csv.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        header
            .iter()
            .position(|title| *title == name)
            .ok_or_else(|| format!("has no column {name}, only {}", header.join(" ")))
    };
    let (from, to) = (column(&interval.from)?, column(&interval.to)?);
    let mut lengths = Vec::new();
    for (number, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let stamp = |index: usize| {
            let cell = cells.get(index).copied().unwrap_or_default();
            cell.parse::<u64>().map_err(|_| format!("line {}: {cell:?} is not a stamp", number + 2))
        };
        let (begin, end) = (stamp(from)?, stamp(to)?);
        if begin == 0 || end == 0 {
            continue;
        }
        let length = end.checked_sub(begin);
        lengths.push(length.ok_or_else(|| {
            format!("line {}: {} is before {}", number + 2, interval.to, interval.from)
        })?);
    }
    Ok(lengths)
}

/// Reads lines of a name and a number.
pub fn read_values(text: &str) -> Result<Vec<(String, f64)>, String> {
    let parse = |(number, line): (usize, &str)| {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let value = value.trim().parse::<f64>();
        value
            .map(|value| (name.to_owned(), value))
            .map_err(|_| format!("line {}: {line:?} is not a name and a number", number + 1))
    };
    text.lines().enumerate().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval_between(from: &str, to: &str) -> Interval {
        Interval { name: "x".to_owned(), from: from.to_owned(), to: to.to_owned() }
    }

    #[test]
    fn lengths_are_differences_of_columns_by_name() {
        let csv = "raise,handler,user\n10,20,50\n100,0,170\n1000,1010,1070\n";
        assert_eq!(read_lengths(csv, &interval_between("raise", "user")), Ok(vec![40, 70, 70]));
        assert_eq!(read_lengths(csv, &interval_between("raise", "handler")), Ok(vec![10, 10]));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let table = [
            ("raise,user\n10,x\n", "line 2: \"x\" is not a stamp"),
            ("raise,user\n10,20\n10\n", "line 3: \"\" is not a stamp"),
            ("raise,user\n20,10\n", "line 2: user is before raise"),
            ("raise\n20\n", "has no column user, only raise"),
        ];
        for (csv, expected) in table {
            assert_eq!(
                read_lengths(csv, &interval_between("raise", "user")),
                Err(expected.to_owned())
            );
        }
    }

    #[test]
    fn values_are_numbers() {
        let read = read_values("joined 1000\nshare 0.5\n").expect("values");
        assert_eq!(read, vec![("joined".to_owned(), 1000.0), ("share".to_owned(), 0.5)]);
        assert!(read_values("joined\n").is_err());
    }
}
