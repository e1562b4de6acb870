// SPDX-License-Identifier: GPL-2.0-or-later
//! Recordings: written by `irqpath trace --record`, replayed as a source.
