// SPDX-License-Identifier: GPL-2.0-or-later
//! Flame graphs as self-contained SVG: no network, no fonts, scripts inside.
//!
//! Several of them in one HTML page must not share a document (their scripts would), so embed
//! each as `data:image/svg+xml` in an `object` or `iframe`.

use inferno::differential;
use inferno::flamegraph::{self, Options, TextTruncateDirection};
use irqpath_model::printable;

use super::{FlameError, Profile};

/// Every figure says so, because a flame graph of cycles looks the same.
const REMINDER: &str = "instructions, not cycles: every one counts 1, caches and TLBs do not exist";

/// What stands above the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caption {
    /// The path: "raise to handler, median of 50000".
    pub title: String,
    /// Anything more, placed before the length; may be empty.
    pub note: String,
    /// Instructions that the whole width stands for, of graphs that are to have one scale; without it the
    /// graph is as wide as its frame.
    pub scale: Option<u64>,
}

/// Width of a graph of as many instructions as [`Caption::scale`], px.
const WIDTH: u64 = 1200;
/// Below this a title has no room, and below the other one the reminder.
const MIN_WIDTH: u64 = 200;
const ROOM_FOR_ALL: usize = 900;

/// The flame graph of one profile.
///
/// # Errors
/// [`FlameError::Draw`] if the profile is empty.
pub fn graph(profile: &Profile, caption: &Caption) -> Result<String, FlameError> {
    let length = format!("{} instructions", profile.total());
    draw(&profile.folded(), caption, &length, profile.total())
}

/// What changed: widths are those of `after`, red grew, blue shrank.
///
/// # Errors
/// [`FlameError::Draw`] if the profiles are empty.
pub fn difference(
    before: &Profile,
    after: &Profile,
    caption: &Caption,
) -> Result<String, FlameError> {
    let mut lines = Vec::new();
    let (old, new) = (before.folded(), after.folded());
    let options = differential::Options { normalize: false, strip_hex: false };
    differential::from_readers(options, old.as_bytes(), new.as_bytes(), &mut lines)
        .map_err(|e| FlameError::Draw { reason: e.to_string() })?;
    let length = format!("{} instructions, before {}", after.total(), before.total());
    draw(&String::from_utf8_lossy(&lines), caption, &length, after.total())
}

fn draw(lines: &str, caption: &Caption, length: &str, total: u64) -> Result<String, FlameError> {
    let mut options = Options::default();
    let width = caption.scale.map(|scale| (WIDTH * total / scale.max(1)).clamp(MIN_WIDTH, WIDTH));
    options.image_width = width.and_then(|width| usize::try_from(width).ok());
    options.title = printable(&caption.title).into_owned();
    let all = options.image_width.is_none_or(|width| width >= ROOM_FOR_ALL);
    let mut subtitle = if all { format!("{length} ({REMINDER})") } else { length.to_owned() };
    if !caption.note.is_empty() {
        subtitle = format!("{}: {subtitle}", caption.note);
    }
    options.subtitle = Some(printable(&subtitle).into_owned());
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
