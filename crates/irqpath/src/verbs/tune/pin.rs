// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath tune pin`, `unpin`, `export` and `apply`: associations that a person writes down.
//!
//! A pin is kept first and acted on then, so that a watch that runs finds it, too. What was set for
//! other reasons stays.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use irqpath_files::output::StagedFile;
use irqpath_files::{input, owner};
use irqpath_model::tune::{Document, Pin, PinFile};
use irqpath_report::text;
use irqpath_source::confine::{Kept, confine};
use irqpath_system::Host;
use irqpath_system::tune::{self, PinList};

use super::args::{TuneApply, TuneExport, TunePin, TuneUnpin};
use super::lessons::Lessons;
use super::plan::{
    Aim, Basis, Selection, empty_document, known_otherwise, open_host, plan_and_apply,
};
use super::watch::{Watched, keep_learning};
use crate::host::signals;
use crate::output::{console, exit};

/// A mode in which somebody else may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

pub fn pin_task(arguments: &TunePin) -> anyhow::Result<ExitCode> {
    let (host, _) = open_host();
    tune::check_rights(&host)?;
    let new = tune::make_pins(&host, &arguments.irq, &arguments.task, &host.live_threads())?;
    let mut file = tune::read_pins(&host, PinList::ByHand)?;
    let pins = PinFile { serve: new.clone(), ..PinFile::default() };
    let fault = pins.find_fault();
    ensure!(fault.is_none(), "{}; nothing is pinned", fault.unwrap_or_default());
    for pin in new {
        file.add_pin(pin);
    }
    tune::write_pins(&host, PinList::ByHand, &file)?;
    act_on_pins(pins, true, false, arguments.json)
}

pub fn unpin_task(arguments: &TuneUnpin) -> anyhow::Result<ExitCode> {
    let (host, _) = open_host();
    tune::check_rights(&host)?;
    let named = tune::find_actions(&host, &arguments.irq)?;
    let is_named = |pin: &Pin| pin.irq == arguments.irq || named.iter().any(|(n, _)| *n == pin.irq);
    let tasks = arguments
        .task
        .as_deref()
        .map(|task| tune::make_pins(&host, &arguments.irq, task, &host.live_threads()));
    let tasks = tasks.transpose()?;
    let is_task = |pin: &Pin| {
        tasks.as_ref().is_none_or(|tasks| {
            tasks.iter().any(|task| (&task.comm, &task.unit) == (&pin.comm, &pin.unit))
        })
    };
    let removed = tune::remove_pins(&host, |pin| is_named(pin) && is_task(pin))?;
    ensure!(!removed.is_empty(), "no such pin; irqpath tune export lists them");
    let pins = PinFile { serve: removed, ..PinFile::default() };
    act_on_pins(pins, false, false, arguments.json)
}

/// Set and take back what follows from all pins now.
fn act_on_pins(pins: PinFile, is_added: bool, force: bool, json: bool) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    let _stop = signals::listen()?;
    let aim = Aim { apply: true, force };
    let known = known_otherwise(&host)?;
    let basis = Basis { known: &known, selection: Selection::Keep };
    let pinned = resolve_each(&host, &pins)?;
    let (plan, applied) = plan_and_apply(aim, (&host, &access), basis, true)?;
    let refused = applied.as_ref().is_some_and(|applied| !applied.refused.is_empty());
    if json {
        let document = Document { pins: Some(pins), plan: Some(plan), applied, ..empty_document() };
        console::print_json(&document, false)?;
    } else {
        console::print_page(&text::tune::render_pins(&pins.serve, &pinned, is_added))?;
        console::print_page(&text::tune::render_changes(&plan, applied.as_ref()))?;
    }
    Ok(if refused { ExitCode::from(exit::EXCEEDED) } else { ExitCode::SUCCESS })
}

/// How many lines and tasks each pin has on this host now.
fn resolve_each(host: &Host, pins: &PinFile) -> anyhow::Result<Vec<usize>> {
    let threads = host.live_threads();
    let nr = |pin: &Pin| Ok(tune::resolve_pins(host, std::slice::from_ref(pin), &threads)?.len());
    pins.serve.iter().map(nr).collect()
}

pub fn export_pins(arguments: &TuneExport) -> anyhow::Result<ExitCode> {
    let host = Host::real();
    let known = match arguments.learn {
        None => known_otherwise(&host)?,
        Some(learn) => {
            host.may_trace()?;
            let stop = signals::listen()?;
            let mut lessons = Lessons::live(false, false)?;
            lessons.adopt_known(&host)?;
            lessons.listen(learn, &stop, || {})?;
            stop.check_abort()?;
            lessons.report_learned(&host)?.associations
        }
    };
    let (learned, nr_nameless) = tune::describe_associations(&host, &known)?;
    let mut file = PinFile { serve: tune::all_pins(&host)?, ..PinFile::default() };
    for pin in learned {
        file.add_pin(pin);
    }
    if nr_nameless > 0 {
        console::print_note(&format!(
            "{nr_nameless} associations are left out: no interrupt line starts them"
        ));
    }
    if arguments.json {
        console::print_json(&Document { pins: Some(file), ..empty_document() }, false)?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = tune::format_pins(&file);
    let Some(path) = &arguments.output else {
        console::write_stdout(|out| out.write_all(text.as_bytes()))?;
        return Ok(ExitCode::SUCCESS);
    };
    let (staged, mut out) = StagedFile::create(path)?;
    out.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    console::print_written(&staged.commit()?)?;
    Ok(ExitCode::SUCCESS)
}

pub fn apply_file(arguments: &TuneApply) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    tune::check_rights(&host)?;
    let is_absent = arguments.if_exists && !arguments.file.try_exists().unwrap_or(true);
    let pins = if is_absent { PinFile::default() } else { read_file(&arguments.file)? };
    tune::write_pins(&host, PinList::FromFile, &pins)?;
    let done = act_on_pins(pins, true, arguments.force, arguments.json)?;
    if arguments.watch {
        let stop = signals::listen()?;
        let mut lessons = Lessons::of_known(&known_otherwise(&host)?);
        confine(Kept { priorities: true, journal: true, ..Kept::default() })?;
        let aim = Aim { apply: true, force: arguments.force };
        let pace = (arguments.interval, arguments.json);
        let watched = Watched { lessons: &mut lessons, devices: None };
        keep_learning(aim, pace, (&host, &access), watched, &stop)?;
    }
    Ok(done)
}

/// Root obeys such a file, so nobody else may have written it.
fn read_file(path: &Path) -> anyhow::Result<PinFile> {
    let shown = path.display();
    let file = input::open(path).with_context(|| format!("cannot read {shown}"))?;
    check_owner(path, &file)?;
    let text = read_whole(file).with_context(|| format!("cannot read {shown}"))?;
    Ok(tune::parse_pins(path, &text)?)
}

fn check_owner(path: &Path, file: &File) -> anyhow::Result<()> {
    let (found, path) = (file.metadata()?, path.display());
    let owner = owner::describe_user(found.uid());
    ensure!(
        owner::is_trusted(found.uid()),
        "{path} belongs to {owner}; read it, then: chown root {path}"
    );
    ensure!(
        found.mode() & WRITABLE_BY_OTHERS == 0,
        "{path} may be written by others; read it, then: chmod go-w {path}"
    );
    Ok(())
}

fn read_whole(file: File) -> std::io::Result<String> {
    use std::io::{Error, ErrorKind, Read as _};
    let mut text = String::new();
    file.take(tune::MAX_PIN_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > tune::MAX_PIN_FILE {
        return Err(Error::new(ErrorKind::FileTooLarge, "it has more than a megabyte"));
    }
    Ok(text)
}
