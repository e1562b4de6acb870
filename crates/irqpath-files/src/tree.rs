// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a tree of programs and settings is to be trusted.
