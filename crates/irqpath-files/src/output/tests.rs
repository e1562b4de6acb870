// SPDX-License-Identifier: GPL-2.0-or-later
//! What a stranger may have put in the way. The stranger's files are made by root and given
//! away, so those tests are skipped for other users.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::*;

/// Whoever is no user of this machine.
const STRANGER: u32 = 65_533;

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn is_ours(bytes: &[u8]) -> bool {
    bytes == b"ours"
}

fn create(target: &Path, force: bool) -> Result<StagedDir, OutputError> {
    StagedDir::create(target, force, is_ours)
}

fn refusal(target: &Path, force: bool) -> String {
    create(target, force).unwrap_err().to_string()
}

fn write(target: &Path, text: &str) -> Result<PathBuf, OutputError> {
    let (staged, mut file) = StagedFile::create(target)?;
    file.write_all(text.as_bytes()).unwrap();
    staged.commit()
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// A directory of the stranger's, below one of ours, beside a file of ours; none if this user
/// cannot make one.
fn strangers(test: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(root.path().join("secret"), "root's").unwrap();
    let theirs = root.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    if chown(&theirs, Some(STRANGER), Some(STRANGER)).is_err() {
        eprintln!("skipped: {test} gives files away, which only root can");
        return None;
    }
    Some((root, theirs))
}

fn plant(path: &Path, to: &str) {
    symlink(to, path).unwrap();
    lchown(path, Some(STRANGER), Some(STRANGER)).unwrap();
}

#[test]
fn a_directory_appears_only_when_committed() {
    let root = tempfile::tempdir().unwrap();
    let staged = create(&root.path().join("r"), false).unwrap();
    staged.create_file("meta.json").unwrap().write_all(b"{}").unwrap();
    let inner = staged.create_directory("raw").unwrap();
    inner.write("reps", |file| file.write_all(b"1")).unwrap();
    assert_eq!(read(inner.current_path().join("reps")), "1");
    assert!(!root.path().join("r").exists());
    staged.commit().unwrap();
    assert_eq!(read(root.path().join("r/raw/reps")), "1");
    assert_eq!(names(root.path()), ["r"]);
    assert_eq!(read(root.path().join("r/meta.json")), "{}");
}

#[test]
fn what_is_not_committed_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let staged = create(&root.path().join("r"), false).unwrap();
    staged.create_file("meta.json").unwrap();
    staged.create_directory("raw").unwrap().create_file("reps").unwrap();
    let (file, _) = StagedFile::create(&root.path().join("f")).unwrap();
    assert_eq!(names(root.path()).len(), 2);
    drop((staged, file));
    assert!(names(root.path()).is_empty());
}

#[test]
fn the_same_name_is_never_used_twice_and_cannot_be_guessed() {
    let root = tempfile::tempdir().unwrap();
    let staged: Vec<_> =
        (0..50).map(|_| StagedFile::create(&root.path().join("f")).unwrap()).collect();
    let found = names(root.path());
    assert_eq!(found.len(), staged.len());
    let shape = |name: &String| name.starts_with(".irqpath-") && name.ends_with(".partial");
    assert!(found.iter().all(shape) && found.iter().all(|name| name.len() == 33), "{found:?}");
}

#[test]
fn an_existing_directory_is_replaced_only_by_force_and_only_if_it_is_a_result() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("r");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("diary.txt"), "dear").unwrap();
    assert!(refusal(&target, false).contains("--force"));
    assert!(refusal(&target, true).contains("no result of irqpath"));
    fs::write(target.join("meta.json"), "another program's").unwrap();
    assert!(refusal(&target, true).contains("no result of irqpath"));
    // A link to a description is none.
    fs::remove_file(target.join("meta.json")).unwrap();
    fs::write(root.path().join("meta"), "ours").unwrap();
    symlink("../meta", target.join("meta.json")).unwrap();
    assert!(refusal(&target, true).contains("no result of irqpath"));
    assert!(refusal(&root.path().join("meta"), true).contains("no result of irqpath"));

    fs::remove_file(target.join("meta.json")).unwrap();
    fs::write(target.join("meta.json"), "ours").unwrap();
    fs::create_dir(target.join("raw")).unwrap();
    symlink(root.path(), target.join("raw/link")).unwrap();
    let staged = create(&target, true).unwrap();
    staged.create_file("new").unwrap();
    staged.commit().unwrap();
    assert_eq!(names(&target), ["new"]);
    assert_eq!(names(root.path()), ["meta", "r"], "what the link leads to is still there");
}

#[test]
fn force_follows_no_link() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("real")).unwrap();
    fs::write(root.path().join("real/meta.json"), "ours").unwrap();
    symlink("real", root.path().join("link")).unwrap();
    assert!(refusal(&root.path().join("link"), true).contains("is a link"));
    assert_eq!(read(root.path().join("real/meta.json")), "ours");
}

#[test]
fn a_final_link_is_neither_followed_nor_replaced() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("real"), "old").unwrap();
    symlink("real", root.path().join("link")).unwrap();
    symlink("nowhere", root.path().join("dangling")).unwrap();
    for name in ["link", "dangling"] {
        let refused = write(&root.path().join(name), "new").unwrap_err().to_string();
        assert!(refused.contains("is a link") && refused.contains("leads to"), "{refused}");
        assert!(root.path().join(name).is_symlink());
    }
    // One that appears while it is written is left alone, too.
    let late = root.path().join("late");
    let (staged, _file) = StagedFile::create(&late).unwrap();
    symlink("real", &late).unwrap();
    assert!(staged.commit().unwrap_err().to_string().contains("is a link"));
    assert_eq!(read(root.path().join("real")), "old");
    assert_eq!(names(root.path()), ["dangling", "late", "link", "real"]);
}

#[test]
fn a_directory_of_a_path_may_be_a_link_of_ones_own() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("real")).unwrap();
    symlink("real", root.path().join("link")).unwrap();
    write(&root.path().join("link/../link/f"), "new").unwrap();
    assert_eq!(read(root.path().join("real/f")), "new");
    symlink("loop", root.path().join("loop")).unwrap();
    assert!(write(&root.path().join("loop/f"), "new").is_err());
}

#[test]
fn devices_and_pipes_are_written_as_they_are() {
    let root = tempfile::tempdir().unwrap();
    let (staged, mut file) = StagedFile::create(Path::new("/dev/null")).unwrap();
    assert!(!staged.is_file());
    file.write_all(b"x").unwrap();
    staged.commit().unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    assert!(StagedFile::create(root.path()).unwrap_err().to_string().contains("directory"));
    assert!(StagedFile::create(Path::new("/")).unwrap_err().to_string().contains("not a name"));

    // What a shell makes of >(COMMAND).
    let (mut reader, writer) = std::io::pipe().unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&writer);
    for path in [format!("/dev/fd/{fd}"), format!("/proc/self/fd/{fd}")] {
        assert_eq!(write(path.as_ref(), "through").unwrap(), Path::new(&path));
    }
    drop(writer);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
    assert_eq!(text, "throughthrough");
}

#[test]
fn the_mode_is_the_umasks() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("f");
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o666)).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    let plain = root.path().join("plain");
    File::create(&plain).unwrap();
    fs::create_dir(root.path().join("plain_d")).unwrap();
    write(&target, "new").unwrap();
    assert_eq!(mode(&target), mode(&plain));
    create(&root.path().join("r"), false).unwrap().commit().unwrap();
    assert_eq!(mode(&root.path().join("r")), mode(&root.path().join("plain_d")));
}

#[test]
fn a_name_in_a_directory_has_no_way_out_of_it() {
    let root = tempfile::tempdir().unwrap();
    let directory = Directory::open(&root.path().join("a/b"), true).unwrap();
    for name in ["../out", "/tmp/out", "..", ".", "", "a/../../out"] {
        assert!(directory.write(name, |_| Ok(())).is_err(), "{name}");
        assert!(
            directory.create_file(name).is_err() && directory.create_directory(name).is_err(),
            "{name}"
        );
    }
    assert_eq!(names(root.path()), ["a"]);
    symlink("..", root.path().join("a/b/up")).unwrap();
    assert!(directory.create_directory("up").is_err());
    directory.create_directory("d").unwrap().write("f", |_| Ok(())).unwrap();
    assert!(directory.create_file("d").is_err());
    directory.remove_file("d").unwrap();
    assert_eq!(names(&root.path().join("a/b")), ["up"]);
}

#[test]
fn a_strangers_link_leads_nowhere() {
    let Some((root, theirs)) = strangers("a_strangers_link") else { return };
    let secret = root.path().join("secret");
    plant(&theirs.join("report.html"), "../secret");
    plant(&theirs.join("up"), "..");
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).unwrap();
    for name in ["report.html", "up/secret", "up/new", "report.html/x"] {
        assert!(write(&theirs.join(name), "new").is_err(), "{name}");
    }
    let refused = write(&theirs.join("up/new"), "new").unwrap_err();
    let source = std::error::Error::source(&refused).unwrap().to_string();
    assert!(source.contains("the link up in it belongs to uid 65533"), "{source}");
    assert!(refusal(&theirs.join("up/r"), true).contains("cannot write"));
    assert!(refusal(&theirs.join("up"), true).contains("is a link"));
    assert!(Directory::open(&theirs.join("up/made"), true).is_err());
    assert_eq!(read(secret), "root's");
    assert_eq!(names(root.path()), ["secret", "theirs"]);
}

#[test]
fn what_belongs_to_a_stranger_is_not_replaced_where_strangers_can_write() {
    let Some((root, theirs)) = strangers("what_belongs_to_a_stranger") else { return };
    let theirs_in = |place: &Path, mode: u32| {
        let path = place.join(format!("f{mode:o}"));
        fs::write(&path, "theirs").unwrap();
        chown(&path, Some(STRANGER), Some(STRANGER)).unwrap();
        fs::set_permissions(place, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let sticky = root.path().join("sticky");
    fs::create_dir(&sticky).unwrap();
    for (place, mode) in [(&sticky, 0o1777), (&theirs, 0o755), (&sticky, 0o777)] {
        let path = theirs_in(place, mode);
        let refused = write(&path, "new").unwrap_err().to_string();
        assert!(refused.contains("belongs to uid 65533"), "{mode:o}: {refused}");
        assert_eq!(read(&path), "theirs");
    }
    // Root's own directory is root's to write.
    let path = theirs_in(&sticky, 0o755);
    write(&path, "new").unwrap();
    assert_eq!((read(&path).as_str(), path.metadata().unwrap().uid()), ("new", 0));
    // A result of theirs is not ours to remove.
    let result = theirs.join("r");
    fs::create_dir(&result).unwrap();
    fs::write(result.join("meta.json"), "ours").unwrap();
    chown(result.join("meta.json"), Some(STRANGER), None).unwrap();
    assert!(refusal(&result, true).contains("no result of irqpath"));
    chown(&result, Some(STRANGER), None).unwrap();
    assert!(refusal(&result, true).contains("belongs to uid 65533"));
}

#[test]
fn a_pipe_of_a_stranger_is_not_opened() {
    let Some((_root, theirs)) = strangers("a_pipe_of_a_stranger") else { return };
    let pipe = theirs.join("report.html");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    chown(&pipe, Some(STRANGER), None).unwrap();
    assert!(write(&pipe, "new").unwrap_err().to_string().contains("belongs to uid 65533"));
}

#[test]
fn a_result_that_was_put_in_the_place_of_the_old_one_is_not_removed() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("r");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("meta.json"), "ours").unwrap();
    let staged = create(&target, true).unwrap();
    fs::rename(&target, root.path().join("moved")).unwrap();
    fs::create_dir(&target).unwrap();
    fs::write(target.join("thesis"), "years").unwrap();
    let refused = staged.commit().unwrap_err().to_string();
    assert!(refused.contains("interfered"), "{refused}");
    assert_eq!(read(target.join("thesis")), "years");
    assert_eq!(read(root.path().join("moved/meta.json")), "ours");
    assert_eq!(names(root.path()), ["moved", "r"]);
}

#[test]
fn what_took_the_name_of_a_partial_one_is_not_removed_with_it() {
    let root = tempfile::tempdir().unwrap();
    let staged = create(&root.path().join("r"), false).unwrap();
    staged.create_file("half").unwrap();
    let partial = root.path().join(&names(root.path())[0]);
    fs::rename(&partial, root.path().join("aside")).unwrap();
    fs::create_dir(&partial).unwrap();
    fs::write(partial.join("thesis"), "years").unwrap();
    drop(staged);
    assert_eq!(read(partial.join("thesis")), "years");
    assert!(names(&root.path().join("aside")).is_empty());
}

/// Whoever owns the directory above exchanges names between the calls that make and open one.
#[test]
fn what_took_the_name_of_a_new_partial_one_is_not_emptied() {
    let root = tempfile::tempdir().unwrap();
    let (target, old) = (root.path().join("r"), root.path().join("old"));
    fs::create_dir(&old).unwrap();
    fs::write(old.join("thesis"), "years").unwrap();
    let exchange = |name: &str| {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        let partial = root.path().join(name);
        rustix::fs::renameat_with(rustix::fs::CWD, &old, rustix::fs::CWD, partial, flags).unwrap();
    };
    let refused = StagedDir::create_with(&target, false, is_ours, &exchange).unwrap_err();
    assert!(matches!(refused, OutputError::Interfered(_)), "{refused}");
    let left = names(root.path());
    assert_eq!(read(root.path().join(&left[0]).join("thesis")), "years");
    assert_eq!(left[1..], ["old"]);
}

/// A stranger's loop puts a link, a file and nothing in turn where root writes.
#[test]
fn a_race_for_the_name_never_leads_out() {
    let Some((root, theirs)) = strangers("a_race_for_the_name") else { return };
    let (target, aside) = (theirs.join("out.json"), theirs.join("aside"));
    let (secret, is_over) = (root.path().join("secret"), AtomicBool::new(false));
    let (mut nr_written, mut nr_refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let _ = fs::remove_file(&aside);
                plant(&aside, "../secret");
                let _ = fs::rename(&aside, &target);
                let _ = fs::remove_file(&target);
            }
        });
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            match write(&target, "root's output") {
                Ok(_) => nr_written += 1,
                Err(_) => nr_refused += 1,
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(read(&secret), "root's");
    assert!(nr_written > 0 && nr_refused > 0, "{nr_written} written, {nr_refused} refused");
    let left = names(&theirs);
    assert!(!left.iter().any(|name| name.ends_with(".partial")), "{left:?}");
}
