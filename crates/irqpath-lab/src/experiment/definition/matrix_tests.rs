// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

const MATRIX: &str = r#"
[matrix]
path = [
    "default",
    { name = "tuned", words = "above both", paper = "-3 %", parameters = { PRIO = 90 } },
]
low = [{ name = "alone", parameters = { US = 0 } }, 500, 50]
"#;

/// The entries of a list in the expansion of these lines with [`MATRIX`], a TOML line each.
fn expand_list(list: &str, text: &str) -> Vec<String> {
    let file = toml::from_str(&format!("{MATRIX}{text}")).unwrap();
    let file = expand_matrix(file).unwrap();
    assert!(!file.contains_key("matrix"));
    file[list].as_array().unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn a_series_is_there_for_every_combination_with_the_parameters_of_its_values() {
    let series = r#"
[[series]]
name = "first"
[[series]]
each = ["path", "low"]
name = "{path}_{low}"
labels = { low = "{low}" }
parameters = { US = "{low}" }
"#;
    let found = expand_list("series", series);
    let line = |name: &str, low: &str, parameters: &str| {
        format!(
            r#"{{ labels = {{ low = "{low}" }}, name = "{name}", parameters = {{ {parameters} }} }}"#
        )
    };
    let expected = [
        r#"{ name = "first" }"#.to_owned(),
        line("default_alone", "alone", "US = 0"),
        line("default_500", "500", "US = 500"),
        line("default_50", "50", "US = 50"),
        line("tuned_alone", "alone", "PRIO = 90, US = 0"),
        line("tuned_500", "500", "PRIO = 90, US = 500"),
        line("tuned_50", "50", "PRIO = 90, US = 50"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_claim_may_be_about_some_values_and_different_at_one_of_them() {
    let check = r#"
[[check]]
each = [{ low = [50, 500] }, "path"]
claim = "x"
[[check]]
each = [{ low = [50, 500] }, { path = "tuned" }]
claim = "At {low}: {path.words}"
paper = "{path.paper}"
value = { ratio = ["{path}_{low}.q50", "default.q50"] }
[[check.where]]
low = 50
set.paper = "-"
set.differs = "{low} is too much"
"#;
    let found = &expand_list("check", check)[4..];
    let expected = [
        r#"{ claim = "At 50: above both", differs = "50 is too much", paper = "-", value = { ratio = ["tuned_50.q50", "default.q50"] } }"#,
        r#"{ claim = "At 500: above both", paper = "-3 %", value = { ratio = ["tuned_500.q50", "default.q50"] } }"#,
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_placeholder_alone_keeps_a_table_or_a_boolean_and_in_a_range_a_number() {
    let check = r#"
[matrix]
f = [{ name = "n", least = 2.5, range = { max = 1 }, must = true }]
[[check]]
each = "f"
claim = "{f.least}"
expect = { min = "{f.least}" }
must = "{f.must}"
[[check]]
each = "f"
expect = "{f.range}"
[[check]]
each = "f"
claim = "x{f.must}"
"#;
    let file: Table = toml::from_str(check).unwrap();
    let error = expand_matrix(file.clone()).unwrap_err();
    assert_eq!(error, r#"check "x{f.must}": {f.must} is no text and no number"#);
    let mut file = file;
    file["check"].as_array_mut().unwrap().truncate(2);
    let found = expand_matrix(file).unwrap()["check"].to_string();
    assert_eq!(
        found,
        r#"[{ claim = "2.5", expect = { min = 2.5 }, must = true }, { expect = { max = 1 } }]"#
    );
}

#[test]
fn a_mistake_is_one_line_that_names_its_key() {
    let each = |each: &str, rest: &str| format!("[[series]]\nname = 's'\neach = {each}\n{rest}");
    let table = [
        (each("['lo']", ""), "series \"s\": each: [matrix] has no lo, only low, path"),
        (each("[{ low = [5] }]", ""), "series \"s\": each: low has no 5, only alone, 500, 50"),
        (each("['low', 'path', { low = 50 }]", ""), "series \"s\": each: low is there twice"),
        (each("[1]", ""), "series \"s\": each: 1 is no axis"),
        (each("['low']", ""), "matrix.path: no `each` names it"),
        (
            each("['low']", "labels = { x = '{path}' }"),
            "series \"s\": {path}: `each` has no path, only low",
        ),
        (
            each("['path']", "labels = { x = '{path.words}' }"),
            "series \"s\": {path.words}: the path default has no words",
        ),
        (
            each("['path']", "where = { low = 50, set = {} }"),
            "series \"s\": where: `each` has no low, only path",
        ),
        (
            each("[{ low = [50] }]", "where = { low = 500, set = {} }"),
            "series \"s\": where: low has no 500, only 50",
        ),
        (
            each("['low']", "where = { low = 50 }"),
            "series \"s\": where: needs `set`, a table of what is different there",
        ),
        (
            "matrix.set = ['a']".to_owned(),
            "matrix.set: `where` has a `set`; give the axis another name",
        ),
        (
            "matrix.low2 = [1.5]".to_owned(),
            "matrix.low2: needs a list of names, or of tables with a `name`",
        ),
    ];
    for (text, expected) in table {
        let text = if text.starts_with("matrix") {
            format!("{text}\n")
        } else {
            format!("{MATRIX}{text}")
        };
        assert_eq!(
            expand_matrix(toml::from_str(&text).unwrap()),
            Err(expected.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn a_file_without_a_matrix_is_left_as_it_is() {
    let file: Table = toml::from_str("[[series]]\nname = '{x}'\neach = ['low']").unwrap();
    assert_eq!(expand_matrix(file.clone()), Ok(file));
}

#[test]
fn a_few_lines_do_not_stand_for_more_than_fits() {
    let axes = |nr: u32, values: &str| -> String {
        let lines = (0..nr).map(|axis| format!("matrix.a{axis} = [{values}]\n"));
        lines.collect::<Vec<_>>().concat()
    };
    let names: Vec<String> = (0..40).map(|axis| format!("'a{axis}'")).collect();
    let series = |each: &str, text: &str| {
        format!("[[series]]\nname = 's'\neach = [{each}]\nlabels = {{ x = '{text}' }}\n")
    };
    let long = format!("'{}', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'", "x".repeat(500));
    let table = [
        (axes(40, "0, 1, 2, 3") + &series(&names.join(", "), ""), "combinations, at most 1000"),
        (
            axes(1, &long) + &series("'a0'", &"{a0}".repeat(9)),
            "{a0}: the text has more than 4096 bytes",
        ),
        (
            axes(3, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9")
                + &series("'a0', 'a1', 'a2'", &"y".repeat(3000)),
            "each: stands for more than 1048576 bytes",
        ),
    ];
    for (text, expected) in table {
        let error = expand_matrix(toml::from_str(&text).unwrap()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
