// SPDX-License-Identifier: GPL-2.0-or-later
//! The journal: what was changed on this host, from what to what, written to disk before each
//! change, so that everything can be put back whatever happens in between.
//!
//! One file per owner (`var/lib/irqpath/shield.journal`), one [`Lock`] for all of them. A line is a
//! checksum and a [`Record`]; lines are only ever appended, and a batch is on disk (`fdatasync`)
//! before the first change of the batch is made. `ledger` folds the lines into what is held now,
//! `store` says with which modes files are made and which ones are believed, [`Allowed`] what may
//! stand in them.
//!
//! The rule to know: a journal may be behind the host by nothing, and ahead of it by one batch.
//! Undo therefore looks at every value before it writes (see [`crate::change::undo_changes`]). After
//! a reboot the kernel's values are gone, and nothing is held. A value that was put back need not
//! be written down, so undo needs no room on the disk.

mod error;
mod ledger;
mod lines;
mod lock;
pub(crate) mod state;
mod store;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trust_tests;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use irqpath_model::change::Refusal;
use serde::{Deserialize, Serialize};

pub use error::JournalError;
pub use ledger::{Held, Ledger};
pub use lock::Lock;

use irqpath_model::change::Target;

use crate::Host;
use crate::change::{Allowed, Intent};
use lines::Lines;

/// Where journals are, under the host's root.
const DIRECTORY: &str = "var/lib/irqpath";
/// Where the lock is. In memory on most hosts, so that it can be taken on a full disk, too.
const LOCK_DIRECTORY: &str = "run/irqpath";
/// A journal longer than this, bytes, is written anew if most of it has no meaning any more.
const COMPACT_ABOVE: u64 = 64 << 10;
/// Raise it when a [`Record`] changes its meaning. Version 1 had other names of scheduling policies.
const VERSION: u32 = 2;

/// A line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    /// What is wanted, from here on. The first line of a journal is one.
    Begin { version: u32, boot_id: String, at_unix_s: u64, wanted: serde_json::Value },
    /// A change will be made.
    Intend(Intent),
    /// The kernel refused it.
    Refused { target: Target, refusal: Refusal },
    /// It is not ours any more: put back, or changed by somebody else.
    Released { target: Target },
}

/// An open journal. Whoever has it holds the lock.
#[derive(Debug)]
pub struct Journal {
    _lock: Lock,
    directory: PathBuf,
    path: PathBuf,
    boot_id: String,
    allowed: Allowed,
    /// `None` until something is appended.
    file: Option<File>,
    /// Of the file, in bytes and in records.
    length: u64,
    nr_records: usize,
    content: Content,
}

/// What a journal says.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// What is held and what was refused, by the journal's lines.
    pub ledger: Ledger,
    /// What the owner wanted, in its own words.
    pub wanted: Option<serde_json::Value>,
    /// When that was written, seconds since 1970.
    pub at_unix_s: u64,
    /// Changes that ended with the boot in which they were made.
    pub gone_with_boot: usize,
    /// Numbers of the lines that are damaged, from 1.
    pub damaged: Vec<usize>,
}

impl Content {
    fn read(path: &Path, allowed: &Allowed, boot_id: &str) -> Result<(Self, Lines), JournalError> {
        let (mut content, mut boot) = (Self::default(), None);
        let mut lines = Lines::read(path, allowed, |record| match record {
            Record::Begin { boot_id, at_unix_s, wanted, .. } => {
                boot = Some(boot_id);
                (content.wanted, content.at_unix_s) = (Some(wanted), at_unix_s);
                content.ledger.forget_refusals();
            }
            Record::Intend(intent) => content.ledger.add_intent(intent),
            Record::Refused { target, refusal } => content.ledger.add_refusal(target, refusal),
            Record::Released { target } => content.ledger.release_target(&target),
        })?;
        content.damaged = std::mem::take(&mut lines.damaged);
        // A journal whose first line is damaged is taken as of this boot: undo looks first.
        if boot.is_some_and(|boot| boot != boot_id) {
            content.gone_with_boot = content.ledger.forget_boot();
            content.wanted = None;
        }
        Ok((content, lines))
    }

    /// True if nothing was changed that has not been put back.
    pub fn is_empty(&self) -> bool {
        self.ledger.is_empty() && self.wanted.is_none()
    }
}

fn boot_id(host: &Host) -> String {
    host.read_fact("proc/sys/kernel/random/boot_id").unwrap_or_default()
}

fn path_of(host: &Host, owner: &str) -> PathBuf {
    host.path(DIRECTORY).join(format!("{owner}.journal"))
}

/// True if `owner` has a journal. Where there is none, nothing has to be locked or made to see that.
pub fn exists(host: &Host, owner: &str) -> bool {
    path_of(host, owner).exists()
}

/// Look into a journal without the lock and without a change, as any user.
pub fn peek_journal(host: &Host, owner: &str) -> Result<Content, JournalError> {
    let (content, _) =
        Content::read(&path_of(host, owner), &Allowed::for_host(host), &boot_id(host))?;
    Ok(content)
}

impl Journal {
    /// Take the lock and open the journal of `owner` ("shield"), which need not exist yet. Waits a
    /// moment for another irqpath.
    pub fn open(host: &Host, owner: &str) -> Result<Self, JournalError> {
        let directory = host.path(DIRECTORY);
        store::prepare_directory(&directory, store::DIRECTORY_MODE)?;
        let lock = Lock::take_lock(&host.path(LOCK_DIRECTORY))?;
        let (path, boot_id, allowed) =
            (path_of(host, owner), boot_id(host), Allowed::for_host(host));
        let (content, lines) = Content::read(&path, &allowed, &boot_id)?;
        let file = lines.repair_file(&path)?;
        let (length, nr_records) = (lines.good, lines.nr_records);
        let mut journal = Self {
            _lock: lock,
            directory,
            path,
            boot_id,
            allowed,
            file,
            length,
            nr_records,
            content,
        };
        if journal.file.is_some() && journal.content.is_empty() {
            journal.remove_file()?; // of another boot, or killed before its first change
        } else {
            journal.shorten_file();
        }
        Ok(journal)
    }

    /// What the journal says, as read when it was opened.
    pub const fn content(&self) -> &Content {
        &self.content
    }

    /// What is held now, with the changes since it was opened.
    pub const fn ledger(&self) -> &Ledger {
        &self.content.ledger
    }

    /// Write down what is wanted from now on. What the kernel refused may be tried again.
    pub fn begin_set(&mut self, wanted: &impl Serialize) -> Result<(), JournalError> {
        let wanted = serde_json::to_value(wanted).map_err(io::Error::from);
        let wanted = wanted.map_err(JournalError::write(&self.path))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_unix_s = now.as_secs();
        let boot_id = self.boot_id.clone();
        self.append_records(&[Record::Begin {
            version: VERSION,
            boot_id,
            at_unix_s,
            wanted: wanted.clone(),
        }])?;
        (self.content.wanted, self.content.at_unix_s) = (Some(wanted), at_unix_s);
        self.content.ledger.forget_refusals();
        Ok(())
    }

    /// Write down changes. They may be made when this returns, not before.
    pub fn write_intents(&mut self, intents: &[Intent]) -> Result<(), JournalError> {
        if let Some(intent) = intents.iter().find(|intent| !self.allowed.is_permitted(intent)) {
            return Err(JournalError::foreign_target(&self.path, &intent.target));
        }
        let records: Vec<Record> = intents.iter().cloned().map(Record::Intend).collect();
        self.append_records(&records)?;
        intents.iter().cloned().for_each(|intent| self.content.ledger.add_intent(intent));
        Ok(())
    }

    /// Write down that the kernel refused a change.
    pub fn write_refusals(&mut self, refused: Vec<(Target, Refusal)>) -> Result<(), JournalError> {
        let record = |(target, refusal): &(Target, Refusal)| Record::Refused {
            target: target.clone(),
            refusal: refusal.clone(),
        };
        self.append_records(&refused.iter().map(record).collect::<Vec<_>>())?;
        for (target, refusal) in refused {
            self.content.ledger.add_refusal(target, refusal);
        }
        Ok(())
    }

    /// These are not ours any more. What cannot be written down, as on a full disk, is found by the
    /// next undo to be as it was.
    pub fn release_targets(&mut self, targets: &[Target]) {
        let record = |target: &Target| Record::Released { target: target.clone() };
        let _ = self.append_records(&targets.iter().map(record).collect::<Vec<_>>());
        for target in targets {
            self.content.ledger.release_target(target);
        }
    }

    /// Nothing is held any more: remove the journal. One with damaged lines is kept beside it.
    pub fn finish(mut self) -> Result<(), JournalError> {
        self.remove_file()
    }

    fn remove_file(&mut self) -> Result<(), JournalError> {
        self.file = None;
        let done = if self.content.damaged.is_empty() {
            fs::remove_file(&self.path)
        } else {
            fs::rename(&self.path, self.path.with_extension("damaged"))
        };
        match done {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(JournalError::write(&self.path)(e));
            }
            _ => {}
        }
        self.content = Content::default();
        (self.length, self.nr_records) = (0, 0);
        self.sync_directory()
    }

    fn append_records(&mut self, records: &[Record]) -> Result<(), JournalError> {
        if records.is_empty() {
            return Ok(());
        }
        let text: String = records
            .iter()
            .map(lines::format_line)
            .collect::<io::Result<_>>()
            .map_err(JournalError::write(&self.path))?;
        self.shorten_file();
        let length = self.length + text.len() as u64;
        if length > store::MAX_JOURNAL {
            return Err(JournalError::Full { path: self.path.clone(), limit: store::MAX_JOURNAL });
        }
        let is_new = self.file.is_none();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(store::open_append(&self.path)?),
        };
        if let Err(error) = write(file, &text) {
            if is_new {
                self.file = None;
                let _ = fs::remove_file(&self.path);
            }
            return Err(JournalError::write(&self.path)(error));
        }
        (self.length, self.nr_records) = (length, self.nr_records + records.len());
        if is_new { self.sync_directory() } else { Ok(()) }
    }

    /// Keeps the length of the file at a few times that of what it says, whatever others do to
    /// the values. On a full disk the long one has to do.
    fn shorten_file(&mut self) {
        let least = 1 + self.content.ledger.nr_records();
        // A damaged journal is kept as evidence.
        let is_whole = self.content.damaged.is_empty();
        if self.length > COMPACT_ABOVE && self.nr_records >= 2 * least && is_whole {
            let _ = self.compact_records();
        }
    }

    /// Writes the journal anew, with what it says and no more.
    fn compact_records(&mut self) -> Result<(), JournalError> {
        let Content { ledger, wanted: Some(wanted), at_unix_s, .. } = &self.content else {
            return Ok(());
        };
        let begin = Record::Begin {
            version: VERSION,
            boot_id: self.boot_id.clone(),
            at_unix_s: *at_unix_s,
            wanted: wanted.clone(),
        };
        let intents = ledger.list_intents().into_iter().map(Record::Intend);
        let refused = ledger.refused().map(|(target, refusal)| Record::Refused {
            target: target.clone(),
            refusal: refusal.clone(),
        });
        let records: Vec<Record> = std::iter::once(begin).chain(intents).chain(refused).collect();
        let staged = self.path.with_extension("new");
        let failed = |error| {
            let _ = fs::remove_file(&staged);
            JournalError::write(&staged)(error)
        };
        // What a kill left.
        let _ = fs::remove_file(&staged);
        let mut file = store::open_append(&staged)?;
        let text = records.iter().map(lines::format_line).collect::<io::Result<String>>();
        let length = text
            .and_then(|text| write(&mut file, &text).map(|()| text.len() as u64))
            .and_then(|length| fs::rename(&staged, &self.path).map(|()| length))
            .map_err(failed)?;
        (self.file, self.length, self.nr_records) = (Some(file), length, records.len());
        self.sync_directory()
    }

    /// A new or removed file is on disk when its directory is.
    fn sync_directory(&self) -> Result<(), JournalError> {
        let synced = File::open(&self.directory).and_then(|d| d.sync_all());
        synced.map_err(JournalError::write(&self.directory))
    }
}

/// All of `text` is on disk then, or nothing of it: lines would be written behind half a one.
fn write(file: &mut File, text: &str) -> io::Result<()> {
    let before = file.metadata()?.len();
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
    written.inspect_err(|_| drop(file.set_len(before)))
}
