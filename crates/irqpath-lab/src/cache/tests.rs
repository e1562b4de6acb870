// SPDX-License-Identifier: GPL-2.0-or-later
//! Keys, staging, locks: what makes the cache trustworthy after a kill and beside another build.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::*;

fn product_of(value: &str, resumable: bool) -> Product {
    let inputs = Inputs::new("test", 1).value("value", value);
    Product { kind: "things", label: "thing".to_owned(), inputs, resumable }
}

fn provide_text(cache: &Cache, product: &Product, text: &str) -> Result<PathBuf, CacheError> {
    cache.provide_product(product, &Progress::hidden(), |staging| {
        let path = staging.directory.join("content");
        fs::write(&path, text).map_err(io_at(&path, "write"))
    })
}

fn read_content(path: &Path) -> String {
    fs::read_to_string(path.join("content")).unwrap()
}

#[test]
fn every_input_changes_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir_all(tree.join("sub")).unwrap();
    fs::write(tree.join("sub/a"), "1").unwrap();
    let key = |version, name: &str, value: &str| {
        let inputs = Inputs::new("r", version).value(name, value);
        inputs.file("f", &tree.join("sub/a")).unwrap().tree("t", &tree).unwrap().key()
    };
    let mut keys = vec![key(1, "n", "v"), key(2, "n", "v"), key(1, "m", "v"), key(1, "n", "w")];
    fs::write(tree.join("sub/a"), "2").unwrap();
    keys.push(key(1, "n", "v"));
    fs::write(tree.join("sub/b"), "").unwrap();
    keys.push(key(1, "n", "v"));
    fs::set_permissions(tree.join("sub/b"), fs::Permissions::from_mode(0o755)).unwrap();
    keys.push(key(1, "n", "v"));
    fs::remove_file(tree.join("sub/b")).unwrap();
    symlink("a", tree.join("sub/b")).unwrap();
    keys.push(key(1, "n", "v"));
    let different: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(different.len(), keys.len(), "{keys:#?}");
    fs::write(tree.join(".swp"), "an editor's").unwrap();
    assert_eq!(keys.last(), Some(&key(1, "n", "v")));
}

#[test]
fn a_value_cannot_imitate_two_inputs() {
    let one = Inputs::new("r", 1).value("a", "x\nvalue b 1 y").key();
    let two = Inputs::new("r", 1).value("a", "x").value("b", "y").key();
    assert_ne!(one, two);
}

#[test]
fn a_product_is_made_once_and_lists_its_inputs() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let first = provide_text(&cache, &product_of("a", false), "first").unwrap();
    let again = provide_text(&cache, &product_of("a", false), "again").unwrap();
    let other = provide_text(&cache, &product_of("b", false), "other").unwrap();
    assert_eq!(
        (read_content(&first), read_content(&other)),
        ("first".to_owned(), "other".to_owned())
    );
    assert_eq!(again, first);
    let list = fs::read_to_string(first.join(INPUTS)).unwrap();
    assert_eq!(list, "recipe test 1\nvalue value 1 a\n");
    assert_eq!(cache.find_product(&product_of("a", false)), Some(first));
    assert_eq!(cache.find_product(&product_of("c", false)), None);
}

#[test]
fn what_failed_or_was_killed_is_never_taken_for_whole() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    for resumable in [false, true] {
        let product = product_of("a", resumable);
        let failed = cache.provide_product(&product, &Progress::hidden(), |staging| {
            fs::write(staging.directory.join("half"), "").unwrap();
            Err(CacheError::NoPlace)
        });
        assert!(failed.is_err());
        assert_eq!(cache.find_product(&product), None);
        let partial = with_suffix(&cache.product_path(&product), ".partial");
        assert!(!partial.exists());
        fs::create_dir_all(&partial).unwrap(); // as after a kill
        fs::write(partial.join("half"), "").unwrap();
    }
    let made = provide_text(&cache, &product_of("a", false), "whole").unwrap();
    assert!(!made.join("half").exists());
    assert_eq!(read_content(&made), "whole");
}

#[test]
fn a_resumable_product_goes_on_with_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let product = product_of("a", true);
    let partial = with_suffix(&cache.product_path(&product), ".partial");
    fs::create_dir_all(&partial).unwrap();
    fs::write(partial.join("step-1"), "").unwrap();
    let made = provide_text(&cache, &product, "rest").unwrap();
    assert!(made.join("step-1").exists() && !partial.exists());
}

#[test]
fn what_nobody_used_for_a_month_makes_room() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let age = |path: &Path, days: u32| {
        let time = SystemTime::now() - Duration::from_secs(24 * 3600) * days;
        File::open(path).unwrap().set_modified(time).unwrap();
    };
    let old = provide_text(&cache, &product_of("old", false), "").unwrap();
    let used = provide_text(&cache, &product_of("used", false), "").unwrap();
    let young = provide_text(&cache, &product_of("young", false), "").unwrap();
    let other = Product { label: "thing-2".to_owned(), ..product_of("old", false) };
    let other = provide_text(&cache, &other, "").unwrap();
    age(&old, 31);
    age(&used, 31);
    age(&young, 29);
    age(&other, 31);
    assert_eq!(cache.find_product(&product_of("used", false)), Some(used.clone()));
    provide_text(&cache, &product_of("new", false), "").unwrap();
    let there = [&old, &used, &young, &other].map(|path| path.is_dir());
    assert_eq!(there, [false, true, true, true]);
}

#[test]
fn two_makers_wait_for_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let (made, inside) = (AtomicU32::new(0), AtomicU32::new(0));
    let maker = || {
        let path = cache.provide_product(&product_of("a", false), &Progress::hidden(), |staging| {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
            thread::sleep(Duration::from_millis(100));
            fs::write(staging.directory.join("content"), "x").unwrap();
            made.fetch_add(1, Ordering::SeqCst);
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok::<(), CacheError>(())
        });
        read_content(&path.unwrap())
    };
    thread::scope(|scope| {
        let makers: Vec<_> = (0..4).map(|_| scope.spawn(maker)).collect();
        for maker in makers {
            assert_eq!(maker.join().unwrap(), "x");
        }
    });
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

#[test]
fn programs_that_outlive_irqpath_keep_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let mut child = None;
    let failed = cache.provide_product(&product_of("a", false), &Progress::hidden(), |staging| {
        let sleep = std::process::Command::new("sleep").arg("60").stdin(staging.stdin()).spawn();
        child = Some(sleep.unwrap());
        Err(CacheError::NoPlace)
    });
    assert!(failed.is_err());
    let lock = File::open(cache.root().join("locks").join(lock_name(&product_of("a", false))));
    let lock = lock.unwrap();
    let busy = flock(&lock, FlockOperation::NonBlockingLockExclusive);
    assert_eq!(busy, Err(rustix::io::Errno::WOULDBLOCK));
    let mut child = child.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
}

#[test]
fn the_place_follows_the_environment() {
    let from = |set: &[(&str, &str)]| {
        let set = set.to_owned();
        let found = choose_root(|name| {
            set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(*value))
        });
        found.map(|path| path.display().to_string()).map_err(|e| e.to_string())
    };
    let home = ("HOME", "/users/u");
    assert_eq!(from(&[home]).unwrap(), "/users/u/.cache/irqpath");
    assert_eq!(from(&[home, ("XDG_CACHE_HOME", "/c")]).unwrap(), "/c/irqpath");
    assert_eq!(from(&[home, ("IRQPATH_CACHE", "/i"), ("XDG_CACHE_HOME", "/c")]).unwrap(), "/i");
    assert_eq!(from(&[home, ("IRQPATH_CACHE", "")]).unwrap(), "/users/u/.cache/irqpath");
    assert!(from(&[home, ("IRQPATH_CACHE", "here")]).unwrap_err().contains("IRQPATH_CACHE=here"));
    assert!(from(&[]).unwrap_err().contains("HOME"));
}

#[test]
fn products_of_a_label_are_found_and_half_made_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    assert!(cache.list_labelled("things", "thing").is_empty());
    let made: std::collections::BTreeSet<_> = ["a", "b"]
        .map(|value| provide_text(&cache, &product_of(value, false), value).unwrap())
        .into();
    for other in ["thing-0123456789abcdef.partial", "thing-x86-0123456789abcdef", "thing-short"] {
        fs::create_dir(dir.path().join("things").join(other)).unwrap();
    }
    assert_eq!(cache.list_labelled("things", "thing"), Vec::from_iter(made));
}

#[test]
fn a_cache_that_others_can_fill_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("a/cache");
    let cache = Cache::at(&root);
    let made = provide_text(&cache, &product_of("a", false), "").unwrap();
    let refusal = || {
        assert_eq!(
            (cache.find_product(&product_of("a", false)), cache.list_labelled("things", "thing")),
            (None, vec![])
        );
        provide_text(&cache, &product_of("a", false), "").unwrap_err().to_string()
    };
    fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(refusal().contains("can be written by others"), "{}", refusal());
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
    for path in [root.clone(), dir.path().join("a")] {
        if chown(&path, Some(65_533), None).is_err() {
            eprintln!("skipped: gives a cache away, which only root can");
            return;
        }
        let want = format!("{} belongs to uid 65533, so the cache is not used", path.display());
        assert!(refusal().starts_with(&want) && refusal().lines().count() == 1, "{}", refusal());
        chown(&path, Some(0), None).unwrap();
    }
    assert_eq!(cache.find_product(&product_of("a", false)), Some(made));
}

#[test]
fn a_link_in_the_place_of_a_lock_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path().join("cache"));
    let (locks, planted) = (cache.root().join("locks"), dir.path().join("planted"));
    fs::create_dir_all(&locks).unwrap();
    symlink(&planted, locks.join(lock_name(&product_of("a", false)))).unwrap();
    let error = provide_text(&cache, &product_of("a", false), "").unwrap_err().to_string();
    assert!(error.contains("cannot write") && error.lines().count() == 1, "{error}");
    assert!(!planted.exists());
    fs::remove_dir_all(&locks).unwrap();
    symlink(dir.path(), &locks).unwrap();
    assert!(provide_text(&cache, &product_of("a", false), "").is_err());
    assert!(!dir.path().join(lock_name(&product_of("a", false))).exists());
}

/// As it was made before locks were private.
#[test]
fn a_stranger_with_an_old_lock_delays_nobody_and_opens_no_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let locks = cache.root().join("locks");
    let path = locks.join(lock_name(&product_of("a", false)));
    fs::create_dir_all(&locks).unwrap();
    fs::write(&path, "").unwrap();
    for (path, mode) in [(&locks, 0o755), (&path, 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let stranger = File::open(&path).unwrap();
    flock(&stranger, FlockOperation::NonBlockingLockExclusive).unwrap();
    let (done, is_done) = std::sync::mpsc::channel();
    thread::spawn(move || done.send(provide_text(&cache, &product_of("a", false), "x").unwrap()));
    let made = is_done.recv_timeout(Duration::from_secs(30)).expect("it waits for the stranger");
    assert_eq!(read_content(&made), "x");
    let modes = [locks, path].map(|path| fs::metadata(path).unwrap().permissions().mode() & 0o777);
    assert_eq!(modes, [0o700, 0o600]);
}

#[test]
fn a_sealed_cache_gives_what_is_there_and_names_what_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let product = product_of("a", false);
    let error = provide_text(&cache.clone().sealed(), &product, "never").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("lacks things/thing-") && text.contains("lab campaign"), "{text}");
    assert!(!text.contains('\n') && fs::read_dir(dir.path()).unwrap().next().is_none());
    let made = provide_text(&cache, &product, "one").unwrap();
    assert_eq!(provide_text(&cache.sealed(), &product, "never").unwrap(), made);
    assert_eq!(read_content(&made), "one");
}
