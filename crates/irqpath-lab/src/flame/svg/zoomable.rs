// SPDX-License-Identifier: GPL-2.0-or-later
//! Draws a flame graph by inferno: a click zooms, and functions can be searched.

use inferno::differential;
use inferno::flamegraph::{self, Options, TextTruncateDirection};

use super::{FlameError, Frame};

/// Lines are a stack and its instructions, with those before in front of them if it is a difference.
pub(super) fn draw_lines(lines: &str, frame: &Frame) -> Result<String, FlameError> {
    let mut options = Options::default();
    options.image_width = frame.width;
    options.title.clone_from(&frame.title);
    options.subtitle = Some(frame.subtitle.clone());
    "instructions".clone_into(&mut options.count_name);
    // Equal functions get equal colours, and two runs the same bytes.
    options.hash = true;
    options.deterministic = true;
    "monospace".clone_into(&mut options.font_type);
    // The beginning of a kernel function's name says more than its end.
    options.text_truncate_direction = TextTruncateDirection::Right;
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.lines(), &mut svg)
        .map_err(|e| FlameError::Draw { reason: e.to_string() })?;
    Ok(String::from_utf8_lossy(&svg).into_owned())
}

pub(super) fn draw_difference(
    before: &str,
    after: &str,
    frame: &Frame,
) -> Result<String, FlameError> {
    let mut lines = Vec::new();
    let options = differential::Options { normalize: false, strip_hex: false };
    differential::from_readers(options, before.as_bytes(), after.as_bytes(), &mut lines)
        .map_err(|e| FlameError::Draw { reason: e.to_string() })?;
    draw_lines(&String::from_utf8_lossy(&lines), frame)
}
