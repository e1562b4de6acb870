// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether what somebody asks of experiments exists: a typing error runs nothing, or runs the wrong
//! thing without a word.

use std::collections::BTreeSet;

use super::definition::Definition;
use super::error::ExperimentError;
use super::run::Options;

/// Every variant and parameter that is asked for must be one of at least one experiment.
pub fn check_request(
    definitions: &[&Definition],
    options: &Options,
) -> Result<(), ExperimentError> {
    let variants: BTreeSet<&str> = definitions
        .iter()
        .flat_map(|definition| &definition.variants)
        .map(|variant| variant.name.as_str())
        .collect();
    if let Some(name) = options.variants.iter().find(|name| !variants.contains(name.as_str())) {
        return Err(ExperimentError::NoVariant { name: name.clone(), known: list(variants) });
    }
    let parameters: BTreeSet<&str> =
        definitions.iter().flat_map(|definition| definition.parameter_names()).collect();
    match options.replaced.parameters.keys().find(|name| !parameters.contains(name.as_str())) {
        Some(name) => {
            Err(ExperimentError::NoParameter { name: name.clone(), known: list(parameters) })
        }
        None => Ok(()),
    }
}

fn list(names: BTreeSet<&str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::experiment::{Parameter, Replaced, read_all};

    #[test]
    fn what_no_experiment_has_is_refused() {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let all = read_all(&all).expect("experiments");
        let all: Vec<&Definition> = all.iter().collect();
        let ask = |variant: Option<&str>, parameter: Option<&str>| {
            let parameters = parameter.map(|name| (name.to_owned(), Parameter::Number(1)));
            let options = Options {
                variants: variant.map(str::to_owned).into_iter().collect(),
                replaced: Replaced {
                    parameters: parameters.into_iter().collect(),
                    ..Replaced::default()
                },
                ..Options::default()
            };
            check_request(&all, &options).map_err(|error| error.to_string())
        };
        assert_eq!(ask(None, None), Ok(()));
        // No file has TRACEPOINTS: the script alone knows it.
        for name in ["REPS", "COUNT", "DURATION_S", "TRACEPOINTS"] {
            assert_eq!(ask(Some("irqpath"), Some(name)), Ok(()), "{name}");
        }
        let error = ask(None, Some("REP")).expect_err("a typing error");
        assert!(error.starts_with("no experiment asked for has a parameter REP; "), "{error}");
        let error = ask(Some("stok"), None).expect_err("a typing error");
        assert!(error.starts_with("no experiment asked for has a variant stok; "), "{error}");
    }
}
