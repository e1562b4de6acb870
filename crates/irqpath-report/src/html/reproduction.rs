// SPDX-License-Identifier: GPL-2.0-or-later
//! `reproduction.html`: the reproduction table with the flame graphs of its paths, in one file
//! that works offline. The page itself has no script; each flame graph is a document of its own
//! with its script inside (SVG in a frame), so that they can be zoomed and do not meet.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use irqpath_model::{Claim, Figures, Outcome, OutcomeVerdict, Reproduced, Reproduction};
use maud::{Markup, html};

use super::document::{escape_markup, render_document};
use crate::reproduction::{
    claim_remarks, figure_cells, figure_headings, figure_name, list_missing, slow_rows, unit_note,
    verdict_word,
};

const STYLES: [&str; 2] =
    [include_str!("../../assets/report.css"), include_str!("../../assets/reproduction.css")];

/// A figure of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Id of the experiment that it belongs to.
    pub experiment: String,
    /// The caption: what the picture shows.
    pub title: String,
    /// A whole SVG document.
    pub svg: String,
}

/// Writes the page. Fails only where `w` does.
pub fn write_reproduction(
    w: &mut impl Write,
    table: &Reproduction,
    pictures: &[Picture],
) -> io::Result<()> {
    let body = html! {
        header {
            p #where { "irqpath " (table.irqpath_version) " · " (table.command.join(" ")) }
            h1 { (overall_verdict(table)) }
        }
        main {
            @if table.experiments.len() > 1 { (render_contents(table)) }
            @for experiment in &table.experiments {
                section #(experiment.id) { (render_experiment(experiment, pictures)) }
            }
        }
    };
    let page =
        render_document("irqpath reproduction", "frame-src data:", &STYLES, &escape_markup(body));
    w.write_all(page.as_bytes())
}

/// How many of some outcomes hold, differ, are undecided, and have no figure.
fn count_verdicts<'a>(claims: impl Iterator<Item = &'a Claim>) -> [usize; 4] {
    let mut nr = [0; 4];
    for outcome in claims.flat_map(|claim| &claim.outcomes) {
        match outcome.verdict {
            OutcomeVerdict::Holds => nr[0] += 1,
            OutcomeVerdict::Differs => nr[1] += 1,
            OutcomeVerdict::Undecided => nr[2] += 1,
            OutcomeVerdict::Missing => nr[3] += 1,
            OutcomeVerdict::Stated => {}
        }
    }
    nr
}

fn verdict_counts([holds, differs, undecided, missing]: [usize; 4]) -> String {
    let some = |nr, what| if nr > 0 { format!(", {nr} {what}") } else { String::new() };
    let (undecided, missing) = (some(undecided, "undecided"), some(missing, "without a figure"));
    format!("{holds} hold, {differs} differ{undecided}{missing}")
}

fn overall_verdict(table: &Reproduction) -> String {
    let all = count_verdicts(table.experiments.iter().flat_map(|experiment| &experiment.claims));
    match (&table.experiments[..], all.iter().sum::<usize>()) {
        ([only], 0) => format!("{}, {}", only.id, unit_note(only)),
        (_, nr) => format!("Of {nr} claims checked, {}", verdict_counts(all)),
    }
}

fn render_contents(table: &Reproduction) -> Markup {
    html! {
        section {
            table {
                thead { tr { th { "experiment" } th {} th { "claims" } } }
                tbody {
                    @for experiment in &table.experiments {
                        tr {
                            th scope="row" {
                                a href={ "#" (experiment.id) } { (experiment.id) }
                            }
                            td { (experiment.title) }
                            td { (verdict_counts(count_verdicts(experiment.claims.iter()))) }
                        }
                    }
                }
            }
        }
    }
}

fn render_experiment(experiment: &Reproduced, pictures: &[Picture]) -> Markup {
    let own = pictures.iter().filter(|picture| picture.experiment == experiment.id);
    html! {
        div.bar {
            h2 { (experiment.title) }
            span.note { (experiment.id) " · " (experiment.source) }
        }
        p.note.prose { (render_text(experiment.workload.trim())) " Figures: " (unit_note(experiment)) "." }
        @for variant in &experiment.variants {
            @for splat in &variant.splats { p.warning { (variant.name) ": " (splat) } }
        }
        @for part in list_missing(&experiment.not_run) { p.note.prose { "Not run: " (part) "." } }
        @if !experiment.claims.is_empty() { (render_claims(experiment)) }
        @if !experiment.figures.is_empty() { (render_figures(experiment)) }
        @if !experiment.slow.is_empty() { (render_slow(experiment)) }
        @for picture in own {
            // Without claims the page is about the pictures.
            details open[experiment.claims.is_empty()] {
                summary { (picture.title) }
                iframe title=(picture.title) loading="lazy"
                    src={ "data:image/svg+xml;base64," (STANDARD.encode(&picture.svg)) }
                    style={ "height:" (svg_height(&picture.svg)) "px" } {}
            }
        }
    }
}

/// A text of an experiment's file. What it has between backquotes is a name, as in Markdown.
fn render_text(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // One without its partner stands for itself.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The height that the SVG asks for, px, with room for a scroll bar.
fn svg_height(svg: &str) -> u32 {
    let asked = svg.split_once(" height=\"").and_then(|(_, rest)| rest.split('"').next());
    asked.and_then(|px| px.parse::<f64>().ok()).map_or(600, |px| px as u32 + 20)
}

fn render_claims(experiment: &Reproduced) -> Markup {
    let variants = &experiment.variants;
    html! {
        div.scroll {
            table.claims {
                thead {
                    tr {
                        th { "claim" } th { "expected" } th { "the document" }
                        @for variant in variants {
                            th.num title=(variant.kernel) { (variant.name) }
                        }
                    }
                }
                tbody {
                    @for claim in &experiment.claims {
                        tr {
                            td.prose { (claim.claim) } td { (claim.expect) } td.prose { (claim.paper) }
                            @for variant in variants {
                                td.num {
                                    @if let Some(outcome) =
                                        claim.outcomes.iter().find(|o| o.variant == variant.name)
                                    { (render_outcome(outcome)) }
                                }
                            }
                        }
                        @for remark in claim_remarks(claim) {
                            tr { td.reason colspan=(variants.len() + 3) { (render_text(remark)) } }
                        }
                    }
                }
            }
        }
    }
}

fn render_outcome(outcome: &Outcome) -> Markup {
    let class = match outcome.verdict {
        OutcomeVerdict::Holds | OutcomeVerdict::Stated => "holds",
        OutcomeVerdict::Differs => "differs",
        OutcomeVerdict::Undecided | OutcomeVerdict::Missing => "missing",
    };
    html! { (outcome.ours) " " span class=(class) { (verdict_word(outcome.verdict)) } }
}

fn render_figures(experiment: &Reproduced) -> Markup {
    let unit = if experiment.counts_instructions() { "instructions" } else { "ns" };
    let headings = figure_headings(&experiment.figures);
    let same = |a: &Figures, b: &Figures| a.variant == b.variant;
    html! {
        details open {
            summary { "What was measured, " (unit) }
            div.scroll {
                table {
                    thead {
                        tr {
                            th { "kernel" } th { "series" }
                            @for heading in headings { th.num { (heading) } }
                        }
                    }
                    tbody {
                        @for rows in experiment.figures.chunk_by(same) {
                            @for (at, row) in rows.iter().enumerate() {
                                tr {
                                    td.repeated[at > 0] { (row.variant) }
                                    td { (figure_name(row)) }
                                    @for cell in &figure_cells(row)[..headings.len()] { td.num { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn render_slow(experiment: &Reproduced) -> Markup {
    html! {
        details open {
            summary {
                "Why runs over Q95 were slow: what they executed more than the median run"
            }
            div.scroll {
                table {
                    thead {
                        tr {
                            th { "kernel" } th { "series" } th.num { "runs" }
                            th { "functions and where the kernel was entered" }
                        }
                    }
                    tbody {
                        @for [variant, series, nr, cause] in slow_rows(experiment) {
                            tr {
                                td { (variant) } td { (series) } td.num { (nr) }
                                td.name.cause { (cause) }
                            }
                        }
                    }
                }
            }
        }
    }
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
            splats: vec!["BUG: \"x\" & y\u{202e}".into()],
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
    fn a_name_between_backquotes_is_code_and_escaped() {
        for (text, expected) in [
            ("`a` and `<b>`", "<code>a</code> and <code>&lt;b&gt;</code>"),
            ("one ` alone", "one ` alone"),
            ("none", "none"),
        ] {
            assert_eq!(render_text(text).into_string(), expected);
        }
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
            r"BUG: &quot;x&quot; &amp; y\u{202e}",
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
