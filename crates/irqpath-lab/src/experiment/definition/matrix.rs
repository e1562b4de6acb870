// SPDX-License-Identifier: GPL-2.0-or-later
//! `[matrix]`: lets an experiment's file say once what it measures or claims for many values.
//!
//! `[matrix]` lists the values of each axis. A variant, series, interval or claim with `each` stands
//! for one at every combination of the axes that `each` names. The expanded file is what
//! [`super::Definition::read`] reads and digests, so that a result stays valid when its file is rewritten
//! with a matrix and means the same. `docs/lab.md` describes the syntax.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

/// Lists whose entries may be written over the matrix: the list, the key that names an entry, and
/// the tables that a value of the matrix adds to an entry.
const LISTS: [(&str, &str, &[&str]); 5] = [
    ("variant", "name", &["parameters"]),
    ("column", "name", &["parameters"]),
    ("series", "name", &["parameters", "labels"]),
    ("interval", "name", &[]),
    ("check", "claim", &[]),
];

/// Tables in which a placeholder that is the whole text keeps the type of what it stands for.
const TYPED: [&str; 2] = ["parameters", "expect"];

/// Of what one `each` stands for, and of a text after its placeholders are replaced, bytes. A file
/// of some lines could fill the memory otherwise.
const MAX_ENTRIES: usize = 1000;
const MAX_TEXT: usize = 4096;
/// Of an expanded list, bytes; that of the longest experiment has 40 kB.
const MAX_LIST: usize = 1 << 20;

/// The values of each axis; every one is a table with a `name`.
type Axes = BTreeMap<String, Vec<Table>>;

/// A value of each axis that an entry is written over.
type Cell<'a> = BTreeMap<&'a str, &'a Table>;

/// Replaces all that is written over the matrix by what it stands for. The error is one line that
/// names the key.
pub(super) fn expand_matrix(mut file: Table) -> Result<Table, String> {
    let Some(matrix) = file.remove("matrix") else { return Ok(file) };
    let axes = read_axes(matrix)?;
    let mut unused: BTreeSet<&str> = axes.keys().map(String::as_str).collect();
    for (list, key, merged) in LISTS {
        let Some(Value::Array(entries)) = file.get_mut(list) else { continue };
        let mut expanded = Vec::new();
        for entry in std::mem::take(entries) {
            let name = entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let at = |what| format!("{list} {name:?}: {what}");
            match Pattern::read(&axes, entry).map_err(at)? {
                Ok(pattern) => {
                    unused.retain(|axis| !pattern.axes.iter().any(|(used, _)| used == axis));
                    expanded.extend(pattern.fill_all(merged).map_err(at)?);
                }
                Err(plain) => expanded.push(plain),
            }
        }
        *entries = expanded;
    }
    match unused.first() {
        Some(axis) => Err(format!("matrix.{axis}: no `each` names it")),
        None => Ok(file),
    }
}

fn read_axes(matrix: Value) -> Result<Axes, String> {
    let Value::Table(matrix) = matrix else { return Err("matrix: needs axes".to_owned()) };
    let read = |(axis, values): (String, Value)| {
        if axis == "set" {
            return Err("matrix.set: `where` has a `set`; give the axis another name".to_owned());
        }
        let values = match values {
            Value::Array(values) => values.into_iter().map(read_value).collect(),
            _ => None,
        };
        let none = || format!("matrix.{axis}: needs a list of names, or of tables with a `name`");
        values.ok_or_else(none).map(|values| (axis, values))
    };
    matrix.into_iter().map(read).collect()
}

fn read_value(value: Value) -> Option<Table> {
    match value {
        Value::Table(fields) => fields.get("name").and_then(text_of).is_some().then_some(fields),
        Value::String(_) | Value::Integer(_) => {
            Some([("name".to_owned(), value)].into_iter().collect())
        }
        _ => None,
    }
}

/// What stands for a value in a text.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// An entry that is written over some axes.
struct Pattern<'a> {
    entry: Table,
    /// In the order of `each`; the last one is the fastest.
    axes: Vec<(&'a str, Vec<&'a Table>)>,
    /// What is different at some of the combinations.
    exceptions: Vec<Exception>,
}

struct Exception {
    /// Names of values, by axis.
    place: BTreeMap<String, Vec<String>>,
    set: Table,
}

impl<'a> Pattern<'a> {
    /// Reads an entry; one without `each` is given back.
    fn read(axes: &'a Axes, entry: Value) -> Result<Result<Self, Value>, String> {
        let Value::Table(mut entry) = entry else { return Ok(Err(entry)) };
        let Some(each) = entry.remove("each") else { return Ok(Err(Value::Table(entry))) };
        let mut pattern = Self { entry, axes: Vec::new(), exceptions: Vec::new() };
        for axis in list_of(each) {
            let chosen = match axis {
                Value::String(axis) => vec![(axis, None)],
                Value::Table(some) => some.into_iter().map(|(a, v)| (a, Some(v))).collect(),
                other => return Err(format!("each: {other} is no axis")),
            };
            for (axis, names) in chosen {
                let axis =
                    select_values(axes, &axis, names).map_err(|what| format!("each: {what}"))?;
                if pattern.axes.iter().any(|(other, _)| *other == axis.0) {
                    return Err(format!("each: {} is there twice", axis.0));
                }
                pattern.axes.push(axis);
            }
        }
        for exception in list_of(pattern.entry.remove("where").unwrap_or(Value::Array(Vec::new())))
        {
            let read = pattern.read_exception(exception).map_err(|what| format!("where: {what}"));
            pattern.exceptions.push(read?);
        }
        Ok(Ok(pattern))
    }

    fn read_exception(&self, exception: Value) -> Result<Exception, String> {
        let Value::Table(mut place) = exception else {
            return Err("needs axes and `set`".to_owned());
        };
        let Some(Value::Table(set)) = place.remove("set") else {
            return Err("needs `set`, a table of what is different there".to_owned());
        };
        let names = |(axis, names): (String, Value)| {
            let known = self.axes.iter().find(|(known, _)| *known == axis);
            let (_, values) = known.ok_or_else(|| {
                format!(
                    "`each` has no {axis}, only {}",
                    join_names(self.axes.iter().map(|(a, _)| *a))
                )
            })?;
            let chosen = find_values(&axis, values, names)?;
            Ok((axis, chosen.into_iter().map(name_of).collect()))
        };
        let place = place.into_iter().map(names).collect::<Result<_, String>>()?;
        Ok(Exception { place, set })
    }

    /// The entry at every combination, with the tables `merged` of the values in it.
    fn fill_all(&self, merged: &[&str]) -> Result<Vec<Value>, String> {
        let lengths = self.axes.iter().map(|(_, values)| values.len());
        let nr = lengths.fold(1_usize, usize::saturating_mul);
        if nr > MAX_ENTRIES {
            return Err(format!("each: {nr} combinations, at most {MAX_ENTRIES}"));
        }
        let (mut entries, mut size) = (Vec::new(), 0);
        for at in 0..nr {
            let entry = self.fill_entry(&self.cell_at(at), merged)?;
            size += entry.to_string().len();
            if size > MAX_LIST {
                return Err(format!("each: stands for more than {MAX_LIST} bytes"));
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    /// The combination of this number; the last axis changes fastest.
    fn cell_at(&self, mut at: usize) -> Cell<'a> {
        let mut cell = Cell::new();
        for (axis, values) in self.axes.iter().rev() {
            cell.insert(axis, values[at % values.len()]);
            at /= values.len();
        }
        cell
    }

    fn fill_entry(&self, cell: &Cell<'_>, merged: &[&str]) -> Result<Value, String> {
        let mut entry = self.entry.clone();
        for Exception { set, .. } in self.exceptions.iter().filter(|e| e.applies_to(cell)) {
            entry.extend(set.clone());
        }
        for (value, key) in cell.values().flat_map(|value| merged.iter().map(move |k| (value, k))) {
            if let Some(Value::Table(own)) = value.get(*key) {
                let all = entry.entry(*key).or_insert_with(|| Value::Table(Table::new()));
                all.as_table_mut().into_iter().for_each(|all| all.extend(own.clone()));
            }
        }
        replace_placeholders(Value::Table(entry), cell, false)
    }
}

impl Exception {
    fn applies_to(&self, cell: &Cell<'_>) -> bool {
        self.place.iter().all(|(axis, names)| names.contains(&name_of(cell[axis.as_str()])))
    }
}

/// An axis with the values of these names, in their order; with all of them if none is named.
fn select_values<'a>(
    axes: &'a Axes,
    axis: &str,
    names: Option<Value>,
) -> Result<(&'a str, Vec<&'a Table>), String> {
    let known = axes.get_key_value(axis);
    let (axis, values) = known.ok_or_else(|| {
        format!("[matrix] has no {axis}, only {}", join_names(axes.keys().map(String::as_str)))
    })?;
    let all: Vec<&Table> = values.iter().collect();
    let chosen = match names {
        Some(names) => find_values(axis, &all, names)?,
        None => all,
    };
    Ok((axis, chosen))
}

fn find_values<'a>(
    axis: &str,
    values: &[&'a Table],
    names: Value,
) -> Result<Vec<&'a Table>, String> {
    let find = |name: Value| {
        let name = text_of(&name).ok_or_else(|| format!("{axis}: {name} is no name"))?;
        values.iter().copied().find(|value| name_of(value) == name).ok_or_else(|| {
            let all: Vec<_> = values.iter().map(|value| name_of(value)).collect();
            format!("{axis} has no {name}, only {}", all.join(", "))
        })
    };
    list_of(names).into_iter().map(find).collect()
}

fn name_of(value: &Table) -> String {
    value.get("name").and_then(text_of).unwrap_or_default()
}

/// One thing, or a list of them.
fn list_of(value: Value) -> Vec<Value> {
    match value {
        Value::Array(all) => all,
        one => vec![one],
    }
}

fn join_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// A value with the placeholders in all its texts replaced.
fn replace_placeholders(value: Value, cell: &Cell<'_>, typed: bool) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => replace_text(&text, cell, typed)?,
        Value::Array(all) => {
            let all = all.into_iter().map(|value| replace_placeholders(value, cell, typed));
            Value::Array(all.collect::<Result<_, _>>()?)
        }
        Value::Table(fields) => {
            let field = |(key, value): (String, Value)| {
                let typed = typed || TYPED.contains(&key.as_str());
                Ok((key, replace_placeholders(value, cell, typed)?))
            };
            Value::Table(fields.into_iter().map(field).collect::<Result<_, String>>()?)
        }
        other => other,
    })
}

fn replace_text(text: &str, cell: &Cell<'_>, typed: bool) -> Result<Value, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(b, r)| Some((b, r.split_once('}')?)))
    {
        let value = look_up(name, cell)?;
        let is_all = text.len() == name.len() + "{}".len();
        let shown = match text_of(value) {
            Some(shown) if !(typed && is_all) => shown,
            _ if is_all => return Ok(value.clone()),
            _ => return Err(format!("{{{name}}} is no text and no number")),
        };
        out.extend([before, &shown]);
        rest = after;
        if out.len() > MAX_TEXT {
            return Err(format!("{{{name}}}: the text has more than {MAX_TEXT} bytes"));
        }
    }
    Ok(Value::String(out + rest))
}

/// What `axis` or `axis.field` stands for.
fn look_up<'a>(name: &str, cell: &Cell<'a>) -> Result<&'a Value, String> {
    let (axis, field) = name.split_once('.').unwrap_or((name, "name"));
    let value = cell.get(axis).copied().ok_or_else(|| {
        format!("{{{name}}}: `each` has no {axis}, only {}", join_names(cell.keys().copied()))
    })?;
    let none = || format!("{{{name}}}: the {axis} {} has no {field}", name_of(value));
    value.get(field).ok_or_else(none)
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
