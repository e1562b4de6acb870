// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of `top` and what each key does to it. Pure: no terminal, no clock, no source;
//! `run` feeds it summaries and keys, `draw` shows it.

use std::time::Duration;

use irqpath_model::{Names, PathKey, PathSummary, SlowPath, Summary};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::tables::{self, Column, Previous, Row, RowId};

/// Which table is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Paths,
    /// Interrupts per line and CPU.
    Lines,
    /// Softirqs per vector and CPU.
    Softirqs,
}

impl Table {
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Paths => tables::PATH_COLUMNS,
            Self::Lines => tables::LINE_COLUMNS,
            Self::Softirqs => tables::SOFTIRQ_COLUMNS,
        }
    }

    /// What its rows are called.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Paths => "paths",
            Self::Lines => "interrupts",
            Self::Softirqs => "softirqs",
        }
    }

    /// Sorted by this column at first: the slowest run of a path, the rate of the others.
    const fn first_sort(self) -> usize {
        match self {
            Self::Paths => 8,
            Self::Lines | Self::Softirqs => 3,
        }
    }
}

/// What does not change while `top` runs.
#[derive(Debug, Clone, Default)]
pub struct About {
    pub host: String,
    /// The release alone: `6.12.1-rt`.
    pub kernel: String,
    /// `live`, or the recording.
    pub source: String,
    pub names: Names,
    /// True in a virtual machine.
    pub is_virtual: bool,
}

/// What to do after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Quit,
}

/// Everything that is shown.
#[derive(Debug)]
pub struct App {
    /// What does not change.
    pub about: About,
    /// As of the last refresh; it stands still while paused.
    pub summary: Summary,
    /// Time since the start of the measurement.
    pub elapsed: Duration,
    /// The table shown, or below the path that is open.
    pub table: Table,
    /// The rows shown: filtered and sorted.
    pub rows: Vec<Row>,
    /// Position in `rows`.
    pub selected: usize,
    /// Column that `rows` are sorted by.
    pub sort: usize,
    /// True if that order is reversed.
    pub reverse: bool,
    /// Only rows with this text, in any case.
    pub filter: String,
    /// True while the filter is typed.
    pub editing: bool,
    /// True while the numbers stand still.
    pub paused: bool,
    /// True while the keys are explained.
    pub help: bool,
    /// The path that is open.
    pub open: Option<PathKey>,
    /// First line of its causes that is shown.
    pub scroll: u16,
    all_rows: Vec<Row>,
    previous: Option<(Summary, Duration)>,
}

impl App {
    pub fn new(about: About) -> Self {
        Self {
            about,
            summary: Summary::default(),
            elapsed: Duration::ZERO,
            table: Table::Paths,
            rows: Vec::new(),
            selected: 0,
            sort: Table::Paths.first_sort(),
            reverse: false,
            filter: String::new(),
            editing: false,
            paused: false,
            help: false,
            open: None,
            scroll: 0,
            all_rows: Vec::new(),
            previous: None,
        }
    }

    /// Take over new numbers, unless paused.
    pub fn take_summary(&mut self, summary: Summary, elapsed: Duration) {
        if self.paused {
            return;
        }
        let before = std::mem::replace(&mut self.summary, summary);
        let first = self.elapsed.is_zero();
        self.previous = (!first).then_some((before, self.elapsed));
        self.elapsed = elapsed;
        self.refill_rows();
    }

    /// The path that is open, with its numbers.
    pub fn open_path(&self) -> Option<&PathSummary> {
        let key = self.open.as_ref()?;
        self.summary.traced().paths.iter().find(|p| p.key == *key)
    }

    /// The slowest recorded paths of the one that is open, slowest first.
    pub fn slow_of_open(&self) -> Vec<&SlowPath> {
        let Some(key) = &self.open else { return Vec::new() };
        self.summary.slow().iter().filter(|s| key.is_covering(&s.record.key())).collect()
    }

    fn refill_rows(&mut self) {
        let seconds = |then: &Duration| self.elapsed.saturating_sub(*then).as_secs_f64();
        let previous = self
            .previous
            .as_ref()
            .map(|(summary, then)| Previous { summary, seconds: seconds(then) });
        self.all_rows = match self.table {
            Table::Paths => tables::path_rows(&self.summary, previous.as_ref()),
            Table::Lines => tables::line_rows(&self.summary, previous.as_ref(), &self.about.names),
            Table::Softirqs => tables::softirq_rows(&self.summary, previous.as_ref()),
        };
        self.arrange_rows();
    }

    /// Filter and sort; the selection stays on its row if that is still there.
    fn arrange_rows(&mut self) {
        let selected = self.rows.get(self.selected).map(|r| r.id.clone());
        let wanted = self.filter.to_lowercase();
        let matches = |row: &&Row| {
            wanted.is_empty()
                || row.values.iter().any(|v| v.format_cell().to_lowercase().contains(&wanted))
        };
        let mut rows: Vec<Row> = self.all_rows.iter().filter(matches).cloned().collect();
        let (sort, reverse) = (self.sort, self.reverse);
        rows.sort_by(|a, b| {
            let order = a.values[sort].order_in_column(&b.values[sort]);
            if reverse { order.reverse() } else { order }
        });
        self.rows = rows;
        self.selected = selected
            .filter(|_| self.selected > 0)
            .and_then(|id| self.rows.iter().position(|r| r.id == id))
            .unwrap_or_else(|| self.selected.min(self.rows.len().saturating_sub(1)));
    }

    /// What the key means depends on what is open; Ctrl-C quits anywhere.
    pub fn handle_key(&mut self, key: KeyEvent) -> Flow {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Flow::Quit;
        }
        if self.editing {
            self.edit_filter(key.code);
            return Flow::Continue;
        }
        if self.help {
            self.help = false;
            return if key.code == KeyCode::Char('q') { Flow::Quit } else { Flow::Continue };
        }
        match key.code {
            KeyCode::Char('q') => return Flow::Quit,
            KeyCode::Char('?' | 'h') => self.help = true,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Esc | KeyCode::Backspace => self.go_back(),
            code if self.open.is_some() => self.move_in_detail(code),
            code => self.table_key(code),
        }
        Flow::Continue
    }

    fn table_key(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char('s' | '>') | KeyCode::Right => self.sort_by(self.sort + 1),
            KeyCode::Char('<') | KeyCode::Left => {
                self.sort_by(self.sort + self.table.columns().len() - 1);
            }
            KeyCode::Char('r') => {
                self.reverse = !self.reverse;
                self.selected = 0;
                self.arrange_rows();
            }
            KeyCode::Char('/') => self.editing = true,
            KeyCode::Char('i') => self.toggle_table(Table::Lines),
            KeyCode::Char('f') => self.toggle_table(Table::Softirqs),
            KeyCode::Enter => self.open_selected(),
            code => self.move_selection(code),
        }
    }

    fn edit_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.editing = false,
            KeyCode::Esc => {
                self.editing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) => self.filter.push(c),
            _ => {}
        }
        self.arrange_rows();
    }

    /// Esc undoes one thing at a time: the open path, the filter, the other table.
    fn go_back(&mut self) {
        if self.open.take().is_some() {
            self.scroll = 0;
        } else if !self.filter.is_empty() {
            self.filter.clear();
            self.arrange_rows();
        } else if self.table != Table::Paths {
            self.show_table(Table::Paths);
        }
    }

    fn toggle_table(&mut self, table: Table) {
        self.show_table(if self.table == table { Table::Paths } else { table });
    }

    fn show_table(&mut self, table: Table) {
        self.table = table;
        self.sort = table.first_sort();
        self.reverse = false;
        self.selected = 0;
        self.rows.clear();
        self.refill_rows();
    }

    fn sort_by(&mut self, column: usize) {
        self.sort = column % self.table.columns().len();
        self.selected = 0;
        self.arrange_rows();
    }

    fn open_selected(&mut self) {
        if let Some(Row { id: RowId::Path(key), .. }) = self.rows.get(self.selected) {
            self.open = Some(key.clone());
            self.scroll = 0;
        }
    }

    fn move_selection(&mut self, code: KeyCode) {
        let last = self.rows.len().saturating_sub(1);
        self.selected = move_position(self.selected, code).min(last);
    }

    fn move_in_detail(&mut self, code: KeyCode) {
        self.scroll =
            move_position(usize::from(self.scroll), code).min(usize::from(u16::MAX)) as u16;
    }
}

/// A position after a key of movement.
fn move_position(position: usize, code: KeyCode) -> usize {
    match code {
        KeyCode::Up | KeyCode::Char('k') => position.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => position + 1,
        KeyCode::PageUp => position.saturating_sub(10),
        KeyCode::PageDown => position + 10,
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => usize::MAX,
        _ => position,
    }
}
