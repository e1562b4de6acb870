// SPDX-License-Identifier: GPL-2.0-or-later
//! Flame graphs as self-contained SVG: no network, no fonts, scripts inside.
//!
//! Several of them in one HTML page must not share a document (their scripts would), so embed
//! each as `data:image/svg+xml` in an `object` or `iframe`.
//!
//! inferno draws them. Its CDDL and the GPL do not go together in one binary that is given to others,
//! so packages are built without the feature `inferno` and have a simpler drawing (`plain`).

#[cfg(not(feature = "inferno"))]
mod plain;
#[cfg(feature = "inferno")]
mod zoomable;

use irqpath_model::printable;
#[cfg(not(feature = "inferno"))]
use plain as drawing;
#[cfg(feature = "inferno")]
use zoomable as drawing;

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

/// What a drawing shows around the stacks.
struct Frame {
    title: String,
    subtitle: String,
    /// In px, if not the drawing's own.
    width: Option<usize>,
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
pub fn draw_graph(profile: &Profile, caption: &Caption) -> Result<String, FlameError> {
    let length = format!("{} instructions", profile.total());
    let frame = make_frame(caption, &length, profile.total());
    drawing::draw_lines(&profile.fold_stacks(), &frame)
}

/// What changed: widths are those of `after`, red grew, blue shrank.
///
/// # Errors
/// [`FlameError::Draw`] if the profiles are empty.
pub fn draw_difference(
    before: &Profile,
    after: &Profile,
    caption: &Caption,
) -> Result<String, FlameError> {
    let length = format!("{} instructions, before {}", after.total(), before.total());
    let frame = make_frame(caption, &length, after.total());
    drawing::draw_difference(&before.fold_stacks(), &after.fold_stacks(), &frame)
}

fn make_frame(caption: &Caption, length: &str, total: u64) -> Frame {
    let width = caption.scale.map(|scale| (WIDTH * total / scale.max(1)).clamp(MIN_WIDTH, WIDTH));
    let width = width.and_then(|width| usize::try_from(width).ok());
    let all = width.is_none_or(|width| width >= ROOM_FOR_ALL);
    let mut subtitle = if all { format!("{length} ({REMINDER})") } else { length.to_owned() };
    if !caption.note.is_empty() {
        subtitle = format!("{}: {subtitle}", caption.note);
    }
    let title = printable(&caption.title).into_owned();
    Frame { title, subtitle: printable(&subtitle).into_owned(), width }
}
