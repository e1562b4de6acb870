// SPDX-License-Identifier: GPL-2.0-or-later
//! Which parameters a job script reads.

/// Variables in capitals that a shell script can do without: `${NAME:-5}`, `${NAME:+-n}`. Another one
/// is a parameter of the file, or none at all.
pub(super) fn find_optional(script: &str) -> impl Iterator<Item = &str> {
    script.split("${").skip(1).filter_map(|rest| {
        let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let (name, rest) = rest.split_at(rest.find(|c| !is_part(c))?);
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        (!name.is_empty() && rest.starts_with(['-', '=', '+'])).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_may_be_unset_can_be_set() {
        let script = "a=$REPS; [ \"${LOAD_US:-5}\" ] && echo ${CPU0+0} ${b:-1} ${:-x} ${FILE#-} ${";
        assert_eq!(find_optional(script).collect::<Vec<_>>(), ["LOAD_US", "CPU0"]);
    }
}
