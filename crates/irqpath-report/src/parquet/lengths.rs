// SPDX-License-Identifier: GPL-2.0-or-later
//! `lengths.parquet`: the length of every repetition in the lab, one row each.

use std::io::Write;

use irqpath_model::RunIdentity;

use super::{Cell, SamplesError, Table, TableWriter};

/// What all lengths of a file have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthLabels<'a> {
    /// The experiment of the lab.
    pub experiment: &'a str,
    /// Its variant.
    pub variant: &'a str,
}

/// How long an interval of a series was in one repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length<'a> {
    /// What was measured: a mechanism with its conditions.
    pub series: &'a str,
    /// From what to what.
    pub interval: &'a str,
    /// Number of the repetition, from 0.
    pub repetition: u32,
    /// Length of the run, ns.
    pub length_ns: u64,
}

/// Writes all lengths of a run as a file and hands the output back.
pub fn write_lengths<'a, W: Write + Send>(
    out: W,
    run: &RunIdentity,
    labels: LengthLabels<'_>,
    lengths: impl IntoIterator<Item = Length<'a>>,
) -> Result<W, SamplesError> {
    let mut table = TableWriter::for_run(out, Table::Lengths, run)?;
    for length in lengths {
        let texts = [labels.experiment, labels.variant, length.series, length.interval];
        let texts = texts.map(|text| table.text(text));
        let numbers = [Cell::u32(length.repetition), Cell::u64(length.length_ns)];
        table.push_row(texts.into_iter().chain(numbers))?;
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::super::ROW_GROUP_ROWS;
    use super::*;
    use bytes::Bytes;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    const LABELS: LengthLabels<'_> = LengthLabels { experiment: "ihm-net", variant: "rt" };

    fn run() -> RunIdentity {
        RunIdentity {
            host: "lab guest, rt".to_owned(),
            run_id: "0123456789abcdef0123456789abcdef".to_owned(),
            commit: "fa7233a0b1c2".to_owned(),
            ..RunIdentity::default()
        }
    }

    #[test]
    fn what_is_written_can_be_read_by_any_reader() {
        let rows: Vec<_> = (0..70_000)
            .map(|n| Length {
                series: if n < 3 { "softirq" } else { "workqueue" },
                interval: "bottom_half",
                repetition: n,
                length_ns: u64::from(n) * 7,
            })
            .collect();
        let bytes =
            write_lengths(Vec::new(), &run(), LABELS, rows.iter().copied()).expect("written");
        let file = SerializedFileReader::new(Bytes::from(bytes)).expect("parquet");
        assert_eq!(file.num_row_groups(), rows.len().div_ceil(ROW_GROUP_ROWS));
        let read = file.get_row_iter(None).expect("rows").map(|row| row.expect("row"));
        let mut nr = 0;
        for (row, expected) in read.zip(&rows) {
            let texts: Vec<_> = (0..9).map(|i| row.get_string(i).expect("text").as_str()).collect();
            let identity = [run().host, String::new(), run().run_id, run().commit, String::new()];
            assert_eq!(texts[..5], identity);
            assert_eq!(texts[5..], ["ihm-net", "rt", expected.series, expected.interval]);
            assert_eq!(row.get_uint(9).expect("repetition"), expected.repetition);
            assert_eq!(row.get_ulong(10).expect("length"), expected.length_ns);
            nr += 1;
        }
        assert_eq!(nr, rows.len());
    }

    #[test]
    fn nothing_measured_is_a_file_without_rows() {
        let bytes = write_lengths(Vec::new(), &run(), LABELS, []).expect("written");
        let file = SerializedFileReader::new(Bytes::from(bytes)).expect("parquet");
        assert_eq!(file.metadata().file_metadata().num_rows(), 0);
    }
}
