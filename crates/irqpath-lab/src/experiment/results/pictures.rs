// SPDX-License-Identifier: GPL-2.0-or-later
//! What the page of an experiment shows of a variant: how the lengths of its series are distributed, and
//! where the instructions of its paths went.
//!
//! The median paths stand below each other and on one scale, so that what one series saved is seen beside
//! another; the worst ones follow.

use irqpath_model::Reproduced;
use irqpath_report::html::{Curve, Picture, draw_cdf};

use crate::experiment::figures::SeriesResult;
use crate::experiment::run::VariantRun;

/// Curves of a picture that can be told apart.
const MAX_CURVES: usize = 12;

/// Draws the pictures of a variant.
pub(super) fn draw_pictures(
    experiment: &Reproduced,
    run: &VariantRun,
) -> std::io::Result<Vec<Picture>> {
    let mut pictures = draw_distributions(experiment, run);
    pictures.extend(draw_graphs(&experiment.id, run)?);
    Ok(pictures.into_iter().map(|(title, svg)| make_picture(&experiment.id, title, svg)).collect())
}

fn make_picture(experiment: &str, title: String, svg: String) -> Picture {
    Picture { experiment: experiment.to_owned(), title, svg }
}

/// Titles and pictures of the last interval of all series.
fn draw_distributions(experiment: &Reproduced, run: &VariantRun) -> Vec<(String, String)> {
    let series: Vec<_> = run.series.iter().filter(|series| !series.lengths().is_empty()).collect();
    let unit = if experiment.counts_instructions() { "instructions" } else { "ns" };
    let draw = |part: &[&SeriesResult]| {
        let interval = part[0].samples.last().map_or("", |(interval, _)| interval);
        let names: Vec<_> = part.iter().map(|series| series.name.as_str()).collect();
        let title = format!(
            "{} on {}, {interval}: share of lengths up to, {}",
            experiment.id,
            run.variant.name,
            names.join(", ")
        );
        let curves: Vec<_> = part
            .iter()
            .map(|series| Curve { name: &series.name, lengths: series.lengths() })
            .collect();
        let heading = format!("{} on {}: {interval}", experiment.title, run.variant.name);
        draw_cdf(&heading, unit, &curves).map(|svg| (title, svg))
    };
    series.chunks(MAX_CURVES).filter_map(draw).collect()
}

/// Titles and flame graphs, those of the medians first.
fn draw_graphs(experiment: &str, run: &VariantRun) -> std::io::Result<Vec<(String, String)>> {
    let longest = run.attributed.iter().map(|path| path.median.total()).max();
    let of_path =
        run.attributed.iter().map(|path| path.draw_graphs(experiment, &run.variant.name, longest));
    let of_path = of_path.collect::<Result<Vec<_>, _>>()?;
    let (medians, worst): (Vec<_>, Vec<_>) = of_path.into_iter().map(<[_; 2]>::into).unzip();
    Ok(medians.into_iter().chain(worst).collect())
}
