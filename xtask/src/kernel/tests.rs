// SPDX-License-Identifier: GPL-2.0-or-later
//! The way of a series through a work tree and back, on a source of two files.

use super::budget::measure;
use super::kbuild::object_of;
use super::said::{complaints, first_difference, new_ones};
use super::{Place, checkout, copy_files, files_below, save};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "user.name=t", "-c", "user.email=t@t"]);
    assert!(command.args(args).status().unwrap().success(), "git {args:?}");
}

/// A source, and a project without hooks and with one new file.
fn place(root: &Path) -> Place {
    write(root, "source/kernel/sched.c", "one\ntwo\nthree\n");
    write(root, "source/.gitignore", "/*\n");
    write(root, "project/overlay/kernel/irqpath/core.c", "new\n");
    write(root, "project/hooks/6.12/series", "");
    Place {
        kernel: root.join("project"),
        base: "6.12".to_owned(),
        source: Some(root.join("source")),
    }
}

fn contents(root: &Path) -> Vec<(PathBuf, String)> {
    let names = files_below(root).unwrap();
    names
        .into_iter()
        .map(|name| (name.clone(), fs::read_to_string(root.join(name)).unwrap()))
        .collect()
}

#[test]
fn a_change_comes_back_as_a_patch_and_new_files_as_overlay() {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path());
    let tree = dir.path().join("tree");
    checkout::run(&place, &tree).unwrap();
    write(&tree, "kernel/sched.c", "one\nhook\ntwo\nthree\n");
    write(&tree, "kernel/irqpath/more.c", "more\n");
    git(&tree, &["add", "-A", "-f", "."]);
    git(&tree, &["commit", "-q", "-m", "sched: Call irqpath"]);
    save::run(&place, &tree).unwrap();

    let overlay: Vec<_> = contents(&place.overlay());
    assert_eq!(overlay.len(), 2);
    assert!(overlay.contains(&("kernel/irqpath/more.c".into(), "more\n".to_owned())));
    let patches = place.patches().unwrap();
    assert_eq!(patches.len(), 1);
    assert!(patches[0].ends_with("0001-sched-Call-irqpath.patch"), "{patches:?}");
    let extent = measure(&fs::read_to_string(&patches[0]).unwrap());
    assert_eq!((extent.added, extent.removed), (1, 0));
    assert_eq!(extent.files, [PathBuf::from("kernel/sched.c")]);
    assert_eq!(extent.not_changed, Vec::<PathBuf>::new());

    // And again from what was written: not a byte differs.
    let before = contents(&place.kernel);
    let again = dir.path().join("again");
    checkout::run(&place, &again).unwrap();
    save::run(&place, &again).unwrap();
    assert_eq!(contents(&place.kernel), before);
}

#[test]
fn what_is_not_committed_is_not_lost_in_silence() {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path());
    let tree = dir.path().join("tree");
    checkout::run(&place, &tree).unwrap();
    write(&tree, "kernel/sched.c", "changed\n");
    let error = save::run(&place, &tree).unwrap_err().to_string();
    assert!(error.contains("kernel/sched.c"), "{error}");
}

#[test]
fn an_overlay_file_never_replaces_one_of_the_source() {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path());
    let file = PathBuf::from("kernel/sched.c");
    copy_files(&[file], &dir.path().join("source"), &place.overlay()).unwrap();
    let error = checkout::run(&place, &dir.path().join("tree")).unwrap_err().to_string();
    assert!(error.contains("kernel/sched.c") && error.contains("patch"), "{error}");
}

#[test]
fn a_patch_is_measured_by_its_hunks_alone() {
    let extent = measure(
        "Subject: [PATCH] x\n\n+not counted\n---\n\ndiff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n\
         @@ -1,2 +1,3 @@ f()\n one\n+++ counted, though it looks like a header\n two\n\
         diff --git a/new.c b/new.c\nnew file mode 100644\n--- /dev/null\n+++ b/new.c\n\
         @@ -0,0 +1 @@\n+line\n-- \n2.39\n",
    );
    assert_eq!((extent.added, extent.removed), (2, 0));
    assert_eq!(extent.files, [PathBuf::from("a.c"), PathBuf::from("new.c")]);
    assert_eq!(extent.not_changed, [PathBuf::from("new.c")]);
}

#[test]
fn a_file_that_another_one_includes_is_part_of_its_object() {
    let beside = [
        ("kernel/sched/fair.c".into(), "#include \"wait.h\"\n".to_owned()),
        ("kernel/sched/all.c".into(), "#include \"wait_bit.c\"\n#include \"wait.c\"\n".to_owned()),
    ];
    for (file, object) in [
        ("kernel/sched/wait.c", "kernel/sched/all.o"),
        ("kernel/sched/fair.c", "kernel/sched/fair.o"),
        ("kernel/sched/it.c", "kernel/sched/it.o"),
    ] {
        assert_eq!(object_of(Path::new(file), &beside), PathBuf::from(object));
    }
}

#[test]
fn a_complaint_that_moved_is_an_old_one() {
    let tree = Path::new("/t");
    let before = complaints(
        "/t/a.c:1:2: warning: odd\n/t/a.c:1:2:    expected this\n/t/b.c:7:1: error: bad\n",
        tree,
    );
    assert_eq!(before, ["a.c:1:2: warning: odd", "b.c:7:1: error: bad"]);
    let after = complaints("/t/a.c:5:2: warning: odd\n/t/b.c:7:1: warning: bad\n", tree);
    assert_eq!(new_ones(&before, &after), ["b.c:7:1: warning: bad"]);
    // The same again, at another place, is one more.
    let after = ["a.c:5:2: warning: odd", "a.c:9:2: warning: odd"].map(str::to_owned);
    assert_eq!(new_ones(&before, &after), ["a.c:9:2: warning: odd"]);
}

#[test]
fn objects_differ_in_a_section_or_not_at_all() {
    let dump = |text: &str, call: &str| {
        format!(
            "RELOCATION RECORDS FOR [.text]:\n0001 R_X86_64_PLT32 {call}\n\n\n\
             Contents of section .text:\n 0000 {text}\nContents of section .data:\n 0000 00\n"
        )
    };
    let one = dump("90c3", "f");
    assert_eq!(first_difference(&one, &one), None);
    assert_eq!(first_difference(&one, &dump("c3", "f")).as_deref(), Some(".text"));
    let calls = first_difference(&one, &dump("90c3", "g"));
    assert_eq!(calls.as_deref(), Some("relocations of [.text]"));
    assert_eq!(first_difference(&one, &(one.clone() + "more")).as_deref(), Some(".data"));
}
