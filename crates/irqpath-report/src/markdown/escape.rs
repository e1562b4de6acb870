// SPDX-License-Identifier: GPL-2.0-or-later
//! Text of a result between the Markdown that the pages write themselves.
//!
//! Titles, reasons and names of kernels come from files, and a browser would obey their HTML and
//! offer their links.

use irqpath_model::Reproduced;

pub(super) fn escape_text(words: &str) -> String {
    let mut shown = String::with_capacity(words.len());
    for c in words.trim().chars() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '[' => shown.push_str("&#91;"),
            c => shown.push(c),
        }
    }
    shown
}

/// Text on a line of its own, such as a heading, whose backticks would reach into what follows.
pub(super) fn escape_line(words: &str) -> String {
    escape_text(words).replace('`', "&#96;").replace('\n', " ")
}

/// Text in a cell, which a bar would end.
pub(super) fn escape_cell(words: &str) -> String {
    escape_line(words).replace('|', "\\|")
}

/// Text between backticks, where nothing can be escaped.
pub(super) fn code_span(words: &str) -> String {
    words.replace(['`', '<', '>', '\n'], "_").replace('|', "\\|")
}

/// The name of an experiment, which is also the end of a link and the name of a file.
pub(super) fn experiment_anchor(experiment: &Reproduced) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    experiment.id.chars().map(plain).collect()
}

/// A command as a reader would type it.
pub(super) fn command_block(typed: &[String]) -> String {
    let words = without_places(typed).into_iter();
    let quoted = words.map(|it| if it.contains(' ') { format!("'{it}'") } else { it });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The words of a command of irqpath's without where a machine had the program and the results.
pub fn without_places(typed: &[String]) -> Vec<String> {
    let mut words = vec!["irqpath".to_owned()];
    let mut arguments = typed.iter().skip(1);
    while let Some(argument) = arguments.next() {
        if matches!(argument.as_str(), "-o" | "--output") {
            arguments.next();
        } else if !argument.starts_with("--output=") && !is_short_output(argument) {
            words.push(without_place(argument));
        }
    }
    words
}

/// `-oDIR`.
fn is_short_output(argument: &str) -> bool {
    argument.starts_with("-o") && !argument.starts_with("--")
}

/// An argument with only the last name of an absolute path: `/a/b`, `--results=/a/b`.
fn without_place(argument: &str) -> String {
    let path = argument.split_once('=').map_or(argument, |(_, value)| value);
    if !path.starts_with('/') {
        return argument.to_owned();
    }
    let option = &argument[..argument.len() - path.len()];
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    format!("{option}{name}")
}
