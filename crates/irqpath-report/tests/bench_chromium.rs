// SPDX-License-Identifier: GPL-2.0-or-later
//! The page of benchmarks in a real Chromium: it draws every facet, follows its controls, in both
//! colour schemes and on paper, without a word on the console. Neighbour: `html_chromium.rs`.
//!
//! Skipped where no Chromium is installed, unless `CI=true`. The page and screenshots stay in the
//! target directory's `tmp` to be looked at.

#![allow(clippy::unwrap_used)] // tests fail by panicking

mod bench_support;
#[allow(dead_code)] // the other page is clicked and typed into more
mod webdriver;

use std::path::{Path, PathBuf};

use base64::Engine as _;
use irqpath_model::{Measured, Meta, Summary};
use irqpath_report::html::{self, Options};
use serde_json::json;
use webdriver::{Browser, installed};

fn report(name: &str, meta: &Meta, summary: &Summary) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    html::write(&mut file, meta, summary, Options::default()).unwrap();
    path
}

fn text(browser: &Browser, selector: &str) -> String {
    let script = format!("return document.querySelector({}).textContent", json!(selector));
    browser.run(&script).as_str().unwrap_or_default().replace('\u{202f}', "")
}

fn number(browser: &Browser, script: &str) -> f64 {
    browser.run(&format!("return {script}")).as_f64().unwrap_or(f64::NAN)
}

fn nr(browser: &Browser, selector: &str) -> u64 {
    number(browser, &format!("document.querySelectorAll({}).length", json!(selector))) as u64
}

fn set(browser: &Browser, element: &str, value: &str, event: &str) {
    let (value, event) = (json!(value), json!(event));
    browser.run(&format!(
        "const e = {element}; e.value = {value}; e.dispatchEvent(new Event({event}))"
    ));
}

fn renders(browser: &Browser) {
    assert!(text(browser, "#verdict").starts_with("Median from 2."));
    assert_eq!(nr(browser, "#table tbody tr"), 15);
    assert!(text(browser, "#common").contains("50.0 Hz"), "{}", text(browser, "#common"));
    // Five mechanisms below each other, three loads beside each other; none has one load only.
    assert_eq!(nr(browser, "#latency .facet"), 13);
    for mark in [".hist", ".dots", ".quantile", ".hist.irq"] {
        assert!(nr(browser, &format!("#latency {mark}")) > 0, "{mark}");
    }
    let labels = text(browser, "#latency .facet svg");
    assert!(labels.contains("IRQ") && labels.contains("OOB"), "{labels}");
    assert!(text(browser, "#causes-about").contains("Undelayed runs meet: "));
    assert!(nr(browser, "#causes-grid .facet") >= 3);
    assert_eq!(nr(browser, "#clocks-grid .facet"), 3);
    assert!(text(browser, "#machine").contains("IWI 400"));
}

/// Dots of a clock that steps are few; those of a counter are many.
fn shows_resolution(browser: &Browser) {
    let dots = |facet: u32| {
        let script = format!(
            "document.querySelectorAll('#clocks-grid .facet')[{facet}].querySelector('.dots').getAttribute('d').split('M').length - 1"
        );
        number(browser, &script)
    };
    assert!(dots(0) > 3.0 * dots(2), "tsc {} ktime {}", dots(0), dots(2));
}

fn follows_controls(browser: &Browser) {
    // How many runs stand in the OOB columns of all facets.
    let oob = "[...document.querySelectorAll('#latency .facet title')].map(t => t.textContent.match(/^beyond the axis: (\\d+) run/)).filter(Boolean).reduce((sum, m) => sum + Number(m[1]), 0)";
    let before = number(browser, oob);
    let end = "document.querySelector('#latency-controls input[type=number]')";
    let last = "Math.max(...[...document.querySelectorAll('#latency .facet')[0].querySelectorAll('text.middle')].map(t => Number(t.textContent)).filter(n => n < 100))";
    set(browser, end, "50", "input");
    assert!((number(browser, last) - 50.0).abs() < 1e-9, "the axis ends where it was told");
    assert!(number(browser, oob) < before, "fewer runs are beyond it");
    set(browser, end, "", "input");
    assert!(number(browser, last) < 50.0);
    assert!((number(browser, oob) - before).abs() < 1e-9);

    let select = "document.querySelector('#latency-controls select')";
    set(browser, select, "load", "change");
    assert!(text(browser, "#latency .facet b").starts_with("load "));
    set(browser, select, "mechanism", "change");

    let about = text(browser, "#causes-about");
    set(browser, "document.querySelector('#causes-controls select')", "0", "change");
    let other = text(browser, "#causes-about");
    assert_ne!(about, other);
}

fn instructions_in_exact_mode(browser: &Browser) {
    assert!(text(browser, "#notes").contains("instructions, not cycles"));
    let cell = "#table tbody tr:nth-child(2) td:nth-child(4)";
    let us: f64 = text(browser, cell).parse().unwrap();
    browser.click("#unit");
    let instructions: f64 = text(browser, cell).parse().unwrap();
    assert!((instructions / 1_000.0 - us).abs() < 0.01, "{us} us, {instructions} instructions");
    assert_eq!(text(browser, "#unit-name"), "latencies in instructions");
}

fn is_quiet(browser: &Browser) {
    let console = browser.console();
    assert!(console.is_empty(), "{console:#?}");
    assert_eq!(browser.run("return typeof window.hit"), "undefined");
    let loaded = browser.run("return performance.getEntriesByType('resource').map(e => e.name)");
    assert_eq!(loaded, json!([]), "nothing is loaded from anywhere");
}

fn keep_screenshot(browser: &Browser, name: &str) {
    browser.run("scrollTo(0, 0)");
    let png = base64::engine::general_purpose::STANDARD.decode(browser.screenshot()).unwrap();
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), png).unwrap();
}

#[test]
fn works_in_a_real_browser() {
    let Some((chromium, driver)) = installed() else {
        assert_ne!(
            std::env::var("CI").as_deref(),
            Ok("true"),
            "CI needs chromium and chromedriver"
        );
        eprintln!("skipped: no chromium with chromedriver is installed");
        return;
    };
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("chromium-bench-{}", std::process::id()));
    {
        let browser = Browser::start(&chromium, &driver, &profile);
        let (meta, mut summary) = bench_support::result(400);
        let Measured::Bench { bench } = &mut summary.measured else { panic!() };
        bench[4].base_path.push(bench_support::HOSTILE.to_owned());
        browser.open(&report("bench.html", &meta, &summary));
        renders(&browser);
        shows_resolution(&browser);
        follows_controls(&browser);
        for scheme in ["dark", "light"] {
            browser.prefer(scheme);
            keep_screenshot(&browser, &format!("bench-{scheme}.png"));
        }
        assert!(browser.print().len() > 20_000, "it prints");
        is_quiet(&browser);

        let exact = Meta { is_exact: true, ..meta };
        browser.open(&report("bench-exact.html", &exact, &summary));
        instructions_in_exact_mode(&browser);
        is_quiet(&browser);
    }
    std::fs::remove_dir_all(&profile).unwrap();
}
