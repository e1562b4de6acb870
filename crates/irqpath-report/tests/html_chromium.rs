// SPDX-License-Identifier: GPL-2.0-or-later
//! `report.html` in a real Chromium: it renders, sorts, filters and shows details by mouse and
//! by keyboard, in both colour schemes and on paper, without a word on the console.
//!
//! Skipped where no Chromium is installed, unless `CI=true`. The pages and screenshots stay in the
//! target directory's `tmp` to be looked at.

#![allow(clippy::unwrap_used)] // tests fail by panicking

mod html_support;
mod webdriver;

use std::path::{Path, PathBuf};

use base64::Engine as _;
use irqpath_report::html::{self, Options};
use serde_json::{Value, json};
use webdriver::{Browser, installed};

const ENTER: char = '\u{e007}';
const DOWN: char = '\u{e015}';

fn report(name: &str, nr_paths: usize) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (meta, summary) = html_support::result(nr_paths);
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    html::write(&mut file, &meta, &summary, Options::default()).unwrap();
    path
}

/// The texts of one column of the path table, as many rows as were made.
fn column(browser: &Browser, nr: usize) -> Vec<String> {
    let script = format!(
        "return [...document.querySelectorAll('.paths tbody tr td:nth-child({nr})')].map(c => c.textContent)"
    );
    let texts = browser.run(&script);
    texts.as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect()
}

fn times(texts: &[String]) -> Vec<f64> {
    texts.iter().map(|t| t.replace('\u{202f}', "").parse().unwrap()).collect()
}

fn text(browser: &Browser, selector: &str) -> String {
    let script = format!("return document.querySelector({}).textContent", json!(selector));
    browser.run(&script).as_str().unwrap_or_default().replace('\u{202f}', "")
}

fn renders(browser: &Browser) {
    assert!(text(browser, "#verdict").starts_with("220 paths, slowest to run 3"));
    assert!(text(browser, "#notes").contains("Lost: 52 records dropped"));
    assert_eq!(text(browser, "#paths-count"), "220");
    assert!(column(browser, 1).len() >= 100, "the first rows are made at once");
    assert!(text(browser, "#machine").contains("6.12.57-rt14"));
    assert!(text(browser, "#lines").contains("36:nvme0q1"));
    assert!(text(browser, "#softirqs").contains("net_rx"));
    let napi = browser.run("return document.querySelector('#napi').checkVisibility()");
    assert_eq!(napi, json!(true));
    assert!(text(browser, "#napi").contains("98765"));
    let ink = "const c = document.querySelector('#chart canvas'); \
               const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; \
               let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n / (d.length / 4)";
    let ink = browser.run(ink).as_f64().unwrap();
    assert!(ink > 0.02, "the histogram is drawn ({ink} of its pixels)");
}

fn sorts(browser: &Browser) {
    // By the time to run at first; then by q50, largest first; then turned.
    let slowest = times(&column(browser, 11));
    assert!(slowest.is_sorted_by(|a, b| a >= b), "{slowest:?}");
    browser.click(".paths th[data-key=q50] button");
    let down = times(&column(browser, 6));
    assert!(down.is_sorted_by(|a, b| a >= b) && down.first() > down.last(), "{down:?}");
    browser.click(".paths th[data-key=q50] button");
    let up = times(&column(browser, 6));
    assert!(up.is_sorted() && up.first() < down.first(), "{up:?}");
    assert_eq!(text(browser, ".paths th[aria-sort=ascending]"), "q50");

    browser.click(".paths th[data-key=origin] button");
    let origins = column(browser, 1);
    assert!(origins[0].starts_with("36:"), "numbers in names sort as numbers: {origins:?}");
    browser.click(".paths th[data-key=cause] button");
    let causes = column(browser, 12);
    assert_ne!(causes[0], "–", "rows without a cause come last");
    browser.click(".paths th[data-key=slowest] button");
}

/// Rows are made as they are scrolled to.
fn grows(browser: &Browser) {
    let before = column(browser, 1).len();
    browser.run("const s = document.querySelector('#paths .scroll'); s.scrollTop = s.scrollHeight");
    for _ in 0..50 {
        if column(browser, 1).len() == 220 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!((before < 220, column(browser, 1).len()), (true, 220));
}

fn filters(browser: &Browser) {
    browser.type_into("#filter", "nvme0q1 post");
    let (origins, targets) = (column(browser, 1), column(browser, 3));
    assert!(!origins.is_empty());
    assert!(origins.iter().all(|o| o == "36:nvme0q1"), "{origins:?}");
    assert!(targets.iter().all(|t| t.contains("postgres")), "{targets:?}");
    assert_eq!(text(browser, "#paths-count"), format!("{} of 220", origins.len()));

    let set = |id: &str, value: &str, event: &str| {
        let (id, value, event) = (json!(id), json!(value), json!(event));
        browser.run(&format!(
            "const e = document.getElementById({id}); e.value = {value}; e.dispatchEvent(new Event({event}))"
        ));
    };
    set("filter", "no such path", "input");
    assert_eq!(column(browser, 1).len(), 0);
    assert!(text(browser, "#paths .empty").contains("No path matches"));
    set("filter", "", "input");
    set("kind", "softirq", "change");
    let origins = column(browser, 1);
    assert!(!origins.is_empty() && origins.iter().all(|o| o == "NET_RX:task"), "{origins:?}");
    set("kind", "", "change");
    assert_eq!(text(browser, "#paths-count"), "220");
}

fn shows_details(browser: &Browser) {
    browser.click(".paths tbody tr:nth-child(3)");
    let (origin, target) = (column(browser, 1)[2].clone(), column(browser, 3)[2].clone());
    let title = text(browser, "#detail-title");
    assert!(title.contains(&origin) && title.contains(&target), "{title}");
    assert!(text(browser, ".waterfall").contains("scheduling latency"));
    assert_eq!(text(browser, "#chart-stage"), "whole path");
    browser.click(".waterfall button[data-stage='1']");
    assert_ne!(text(browser, "#chart-stage"), "whole path");
    assert_eq!(
        browser.run("return document.querySelectorAll('.waterfall [aria-pressed=true]').length"),
        1
    );

    // By keyboard: one row down, Enter.
    browser.press(DOWN);
    browser.run("document.querySelector('.paths tr[aria-selected=true]').focus()");
    browser.press(DOWN);
    browser.press(ENTER);
    let selected =
        browser.run("return document.querySelector('.paths tr[aria-selected=true]').rowIndex");
    assert_eq!(selected, 4, "the row below the chosen one");
    assert!(text(browser, "#detail-title").contains(&column(browser, 3)[3]));
}

/// The bars and rows of the causes add up to the run, and unexplained time has its own row. What the
/// hypervisor stole is of a class of its own.
fn shows_causes(browser: &Browser) {
    browser.click(".paths tbody tr:nth-child(1)");
    let rows = browser.run(
        "return [...document.querySelectorAll('.causes tbody tr')].map(r => [2, 4, 7].map(nr => r.cells[nr].textContent))",
    );
    let rows = rows.as_array().unwrap();
    assert!(rows.iter().any(|r| r[0] == "unexplained"), "{rows:?}");
    let mut stolen = rows.iter().filter(|r| r[0] == "stolen by the hypervisor").peekable();
    assert!(stolen.peek().is_some() && stolen.all(|r| r[2] == "hypervisor"), "{rows:?}");
    let sum: f64 = rows.iter().map(|r| times(&[r[1].as_str().unwrap().to_owned()])[0]).sum();
    let total: f64 = times(&[text(browser, ".stacks .whole td.num")])[0];
    assert!((sum - total).abs() <= 0.1 * rows.len() as f64, "{sum} {total}");
    let apart = browser.run(
        "const whole = document.querySelector('.stacks .whole'); \
         whole.cells[0].textContent = 'handler to softirq raise'; \
         whole.cells[2].textContent = '853\u{202f}400.6'; \
         const edge = e => e.getBoundingClientRect(); \
         const causes = edge(document.querySelector('.causes').parentElement).left; \
         return [...document.querySelectorAll('.stacks td.num')].every(c => edge(c).right <= causes)",
    );
    assert_eq!(apart, json!(true), "no time of a stage is below the table of causes");
    // Another run: the causes follow.
    let before = text(browser, "#run h3");
    if browser.run("return document.querySelectorAll('.slow tbody tr').length > 1") == true {
        browser.click(".slow tbody tr:nth-child(2)");
        assert_ne!(text(browser, "#run h3"), before);
    }
}

fn is_safe(browser: &Browser) {
    assert_eq!(browser.run("return document.images.length"), 0);
    assert_eq!(browser.run("return typeof window.hit"), "undefined");
    assert!(column(browser, 3).iter().any(|t| t == html_support::HOSTILE));
    let loaded = browser.run("return performance.getEntriesByType('resource').map(e => e.name)");
    assert_eq!(loaded, json!([]), "nothing is loaded from anywhere");
}

fn is_quiet(browser: &Browser) {
    let console: Vec<Value> = browser.console();
    assert!(console.is_empty(), "{console:#?}");
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
    let profile =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("chromium-{}", std::process::id()));
    {
        let browser = Browser::start(&chromium, &driver, &profile);
        browser.open(&report("report.html", 220));
        renders(&browser);
        sorts(&browser);
        grows(&browser);
        filters(&browser);
        shows_details(&browser);
        shows_causes(&browser);
        is_safe(&browser);
        for scheme in ["dark", "light"] {
            browser.prefer(scheme);
            let page =
                browser.run("return getComputedStyle(document.documentElement).backgroundColor");
            assert_eq!(page == "rgb(255, 255, 255)", scheme == "light", "{page}");
            keep_screenshot(&browser, &format!("report-{scheme}.png"));
        }
        assert!(browser.print().len() > 20_000, "it prints");
        is_quiet(&browser);

        browser.open(&report("report-2000.html", 2_000));
        assert_eq!(text(&browser, "#paths-count"), "2000");
        let spent = "const [n] = performance.getEntriesByType('navigation'); return n.domComplete - n.responseEnd";
        let spent_ms = browser.run(spent).as_f64().unwrap();
        assert!(spent_ms < 5_000.0, "2000 paths are shown within {spent_ms} ms");
        eprintln!("2000 paths: {spent_ms:.0} ms from file to page");
        is_quiet(&browser);

        browser.open(&report("report-0.html", 0));
        assert!(text(&browser, "#verdict").starts_with("No interrupt was joined"));
        assert!(text(&browser, "#lines").contains("36:nvme0q1"));
        is_quiet(&browser);
    }
    std::fs::remove_dir_all(&profile).unwrap();
}
