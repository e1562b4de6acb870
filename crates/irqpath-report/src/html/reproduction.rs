// SPDX-License-Identifier: GPL-2.0-or-later
//! `reproduction.html`: the reproduction table with the flame graphs of its paths, in one file
//! that works offline. The page itself has no script; each flame graph is a document of its own
//! with its script inside (SVG in a frame), so that they can be zoomed and do not meet.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use irqpath_model::{
    Claim, Figures, Outcome, OutcomeVerdict, Reproduced, Reproduction, is_printable, printable,
};

use crate::reproduction::{cells, headings, missing, name, remarks, slow_rows, unit_note, word};

const STYLES: [&str; 2] =
    [include_str!("../../assets/report.css"), include_str!("../../assets/reproduction.css")];
const HEAD: &str = r#"<!DOCTYPE html>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>irqpath reproduction</title>
<style>
"#;

/// A figure of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The experiment's id.
    pub experiment: String,
    /// What it shows.
    pub title: String,
    /// A whole SVG document.
    pub svg: String,
}

/// Text as it stands in a document, between tags or in an attribute; HTML or SVG.
pub(super) struct Text<'a>(pub(super) &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ if c == '\n' || is_printable(c) => f.write_char(c)?,
                _ => f.write_str(&printable(c.encode_utf8(&mut [0; 4])))?,
            }
        }
        Ok(())
    }
}

/// Writes the page. Fails only where `w` does.
pub fn write_reproduction(
    w: &mut impl Write,
    table: &Reproduction,
    pictures: &[Picture],
) -> io::Result<()> {
    write!(w, "{HEAD}{}{}</style>\n</head>\n<body>\n", STYLES[0], STYLES[1])?;
    let made_by = table.command.join(" ");
    writeln!(
        w,
        "<header><p id=\"where\">irqpath {} · {}</p><h1>{}</h1></header>\n<main>",
        Text(&table.irqpath_version),
        Text(&made_by),
        verdict(table)
    )?;
    if table.experiments.len() > 1 {
        contents(w, table)?;
    }
    for experiment in &table.experiments {
        let own: Vec<_> = pictures.iter().filter(|p| p.experiment == experiment.id).collect();
        section(w, experiment, &own)?;
    }
    writeln!(w, "</main>\n</body>\n</html>")
}

/// How many of some outcomes hold, differ, and have no figure.
fn count<'a>(claims: impl Iterator<Item = &'a Claim>) -> [usize; 3] {
    let mut nr = [0; 3];
    for outcome in claims.flat_map(|claim| &claim.outcomes) {
        match outcome.verdict {
            OutcomeVerdict::Holds => nr[0] += 1,
            OutcomeVerdict::Differs => nr[1] += 1,
            OutcomeVerdict::Missing => nr[2] += 1,
            OutcomeVerdict::Stated => {}
        }
    }
    nr
}

fn counted([holds, differs, missing]: [usize; 3]) -> String {
    let missing = if missing > 0 { format!(", {missing} without a figure") } else { String::new() };
    format!("{holds} hold, {differs} differ{missing}")
}

fn verdict(table: &Reproduction) -> String {
    let all = count(table.experiments.iter().flat_map(|experiment| &experiment.claims));
    match (&table.experiments[..], all.iter().sum::<usize>()) {
        ([only], 0) => format!("{}, {}", Text(&only.id), unit_note(only)),
        (_, nr) => format!("Of {nr} claims checked, {}", counted(all)),
    }
}

fn contents(w: &mut impl Write, table: &Reproduction) -> io::Result<()> {
    writeln!(
        w,
        "<section><table><thead><tr><th>experiment</th><th></th><th>claims</th></tr></thead><tbody>"
    )?;
    for experiment in &table.experiments {
        writeln!(
            w,
            "<tr><th scope=\"row\"><a href=\"#{id}\">{id}</a></th><td>{}</td><td>{}</td></tr>",
            Text(&experiment.title),
            counted(count(experiment.claims.iter())),
            id = Text(&experiment.id),
        )?;
    }
    writeln!(w, "</tbody></table></section>")
}

fn section(w: &mut impl Write, experiment: &Reproduced, pictures: &[&Picture]) -> io::Result<()> {
    writeln!(
        w,
        "<section id=\"{}\">\n<div class=\"bar\"><h2>{}</h2><span class=\"note\">{} · {}</span></div>",
        Text(&experiment.id),
        Text(&experiment.title),
        Text(&experiment.id),
        Text(&experiment.source)
    )?;
    let note = unit_note(experiment);
    writeln!(
        w,
        "<p class=\"note prose\">{} Figures: {note}.</p>",
        Text(experiment.workload.trim())
    )?;
    for variant in &experiment.variants {
        for splat in &variant.splats {
            writeln!(w, "<p class=\"warning\">{}: {}</p>", Text(&variant.name), Text(splat))?;
        }
    }
    for part in missing(&experiment.not_run) {
        writeln!(w, "<p class=\"note prose\">Not run: {}.</p>", Text(&part))?;
    }
    claims(w, experiment)?;
    figures(w, experiment)?;
    slow(w, experiment)?;
    // Without claims the page is about the pictures.
    let open = if experiment.claims.is_empty() { " open" } else { "" };
    for picture in pictures {
        writeln!(
            w,
            "<details{open}><summary>{}</summary><iframe title=\"{0}\" loading=\"lazy\" src=\"data:image/svg+xml;base64,{}\" style=\"height:{}px\"></iframe></details>",
            Text(&picture.title),
            STANDARD.encode(&picture.svg),
            height(&picture.svg)
        )?;
    }
    writeln!(w, "</section>")
}

/// The height that the SVG asks for, px, with room for a scroll bar.
fn height(svg: &str) -> u32 {
    let asked = svg.split_once(" height=\"").and_then(|(_, rest)| rest.split('"').next());
    asked.and_then(|px| px.parse::<f64>().ok()).map_or(600, |px| px as u32 + 20)
}

fn claims(w: &mut impl Write, experiment: &Reproduced) -> io::Result<()> {
    if experiment.claims.is_empty() {
        return Ok(());
    }
    write!(
        w,
        "<div class=\"scroll\"><table class=\"claims\"><thead><tr><th>claim</th><th>expected</th><th>the document</th>"
    )?;
    for variant in &experiment.variants {
        write!(
            w,
            "<th class=\"num\" title=\"{}\">{}</th>",
            Text(&variant.kernel),
            Text(&variant.name)
        )?;
    }
    writeln!(w, "</tr></thead><tbody>")?;
    for claim in &experiment.claims {
        write!(
            w,
            "<tr><td class=\"prose\">{}</td><td>{}</td><td class=\"prose\">{}</td>",
            Text(&claim.claim),
            Text(&claim.expect),
            Text(&claim.paper)
        )?;
        for variant in &experiment.variants {
            let outcome = claim.outcomes.iter().find(|outcome| outcome.variant == variant.name);
            write!(w, "<td class=\"num\">{}</td>", outcome.map(judged).unwrap_or_default())?;
        }
        writeln!(w, "</tr>")?;
        for remark in remarks(claim) {
            let span = experiment.variants.len() + 3;
            writeln!(w, "<tr><td class=\"reason\" colspan=\"{span}\">{}</td></tr>", Text(remark))?;
        }
    }
    writeln!(w, "</tbody></table></div>")
}

fn judged(outcome: &Outcome) -> String {
    let class = match outcome.verdict {
        OutcomeVerdict::Holds | OutcomeVerdict::Stated => "holds",
        OutcomeVerdict::Differs => "differs",
        OutcomeVerdict::Missing => "missing",
    };
    let verdict = word(outcome.verdict);
    format!("{} <span class=\"{class}\">{verdict}</span>", Text(&outcome.ours))
}

fn figures(w: &mut impl Write, experiment: &Reproduced) -> io::Result<()> {
    if experiment.figures.is_empty() {
        return Ok(());
    }
    let unit = if experiment.exact { "instructions" } else { "ns" };
    write!(
        w,
        "<details open><summary>What was measured, {unit}</summary><div class=\"scroll\"><table><thead><tr><th>kernel</th><th>series</th>"
    )?;
    let headings = headings(&experiment.figures);
    headings.iter().try_for_each(|heading| write!(w, "<th class=\"num\">{heading}</th>"))?;
    writeln!(w, "</tr></thead><tbody>")?;
    let mut last: Option<&Figures> = None;
    for row in &experiment.figures {
        let same = last.is_some_and(|last| last.variant == row.variant);
        let class = if same { "repeated" } else { "" };
        write!(
            w,
            "<tr><td class=\"{class}\">{}</td><td>{}</td>",
            Text(&row.variant),
            Text(&name(row))
        )?;
        let cells = &cells(row)[..headings.len()];
        cells.iter().try_for_each(|cell| write!(w, "<td class=\"num\">{cell}</td>"))?;
        writeln!(w, "</tr>")?;
        last = Some(row);
    }
    writeln!(w, "</tbody></table></div></details>")
}

fn slow(w: &mut impl Write, experiment: &Reproduced) -> io::Result<()> {
    if experiment.slow.is_empty() {
        return Ok(());
    }
    writeln!(
        w,
        "<details open><summary>Why runs over Q95 were slow: what they executed more than the median run</summary><div class=\"scroll\"><table><thead><tr><th>kernel</th><th>series</th><th class=\"num\">runs</th><th>functions and where the kernel was entered</th></tr></thead><tbody>"
    )?;
    for [variant, series, nr, cause] in slow_rows(experiment) {
        writeln!(
            w,
            "<tr><td>{}</td><td>{}</td><td class=\"num\">{nr}</td><td class=\"name cause\">{}</td></tr>",
            Text(&variant),
            Text(&series),
            Text(&cause)
        )?;
    }
    writeln!(w, "</tbody></table></div></details>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{ReproducedVariant, SlowRuns};

    fn table() -> Reproduction {
        let mut table = Reproduction::new("0.1.0", vec!["irqpath".into(), "<all>".into()]);
        let outcome = |variant: &str, verdict| Outcome {
            variant: variant.into(),
            ours: "1.5".into(),
            verdict,
        };
        let variant = |name: &str| ReproducedVariant {
            name: name.into(),
            kernel: "6.12".into(),
            image_sha256: "00".into(),
            directory: name.into(),
            splats: vec!["BUG: \"x\" & y".into()],
            ..ReproducedVariant::default()
        };
        table.experiments.push(Reproduced {
            id: "one".into(),
            title: "First".into(),
            source: "001".into(),
            workload: "Work.".into(),
            exact: true,
            variants: vec![variant("rt"), variant("stock")],
            claims: vec![Claim {
                claim: "a < b".into(),
                paper: "2".into(),
                expect: "at least 1".into(),
                differs: Some("Since 6.12.".into()),
                note: None,
                must: false,
                outcomes: vec![
                    outcome("rt", OutcomeVerdict::Holds),
                    outcome("rt", OutcomeVerdict::Stated),
                    outcome("stock", OutcomeVerdict::Differs),
                ],
            }],
            figures: Vec::new(),
            slow: vec![SlowRuns {
                variant: "rt".into(),
                series: "softirq".into(),
                cause: "add_timer_on < asm_sysvec_irq_work".into(),
                nr: 98,
            }],
            ..Reproduced::default()
        });
        table
    }

    #[test]
    fn whatever_was_measured_is_text_and_a_flame_graph_is_a_document_of_its_own() {
        let svg = "<svg height=\"120\"><script>alert(1)</script></svg>";
        let picture = Picture { experiment: "one".into(), title: "t".into(), svg: svg.into() };
        let other = Picture { experiment: "two".into(), ..picture.clone() };
        let mut page = Vec::new();
        write_reproduction(&mut page, &table(), &[picture, other]).expect("page");
        let page = String::from_utf8(page).expect("utf-8");
        for text in [
            "Of 2 claims checked, 1 hold, 1 differ<",
            "a &lt; b",
            "BUG: &quot;x&quot; &amp; y",
            "add_timer_on &lt; asm_sysvec_irq_work",
            "1.5 <span class=\"differs\">differs</span>",
            "Since 6.12.",
            "style=\"height:140px\"",
        ] {
            assert!(page.contains(text), "{text}");
        }
        assert!(!page.contains("<script"), "the page itself has no script");
        assert_eq!(page.matches("<iframe").count(), 1);
        assert!(page.contains(&STANDARD.encode(svg)));
    }

    #[test]
    fn a_page_without_claims_is_about_its_pictures() {
        let mut table = table();
        table.experiments[0].claims.clear();
        let picture = Picture { experiment: "one".into(), title: "t".into(), svg: "<svg/>".into() };
        let mut page = Vec::new();
        write_reproduction(&mut page, &table, &[picture]).expect("page");
        let page = String::from_utf8(page).expect("utf-8");
        assert!(page.contains("<h1>one, exact; 1 ns is one instruction"), "{page}");
        assert!(page.contains("<details open><summary>t</summary>"));
    }
}
