// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's own type description (BTF), as `bpftool -j btf dump` prints it.
//!
//! Only what [`super::emit`] needs: look up by name and kind, look up by number, and see through
//! modifiers. Type number 0 is `void` and not in the list.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::HashMap;

const ANONYMOUS: &str = "(anon)";

/// One type; which fields mean something depends on `kind`.
#[derive(Debug, Deserialize)]
pub struct Type {
    pub id: u32,
    pub kind: Kind,
    #[serde(default)]
    pub name: String,
    /// Bytes, of integers, records and enums.
    #[serde(default)]
    pub size: u32,
    /// `SIGNED`, `CHAR`, `BOOL`, `UNSIGNED` or `(none)`.
    #[serde(default)]
    pub encoding: String,
    /// What a pointer, array, typedef or modifier refers to.
    #[serde(default, rename = "type_id")]
    pub target: u32,
    #[serde(default)]
    pub nr_elems: u32,
    #[serde(default)]
    pub members: Vec<Member>,
    #[serde(default)]
    pub values: Vec<Constant>,
}

/// A member of a struct or union.
#[derive(Debug, Deserialize)]
pub struct Member {
    pub name: String,
    pub type_id: u32,
    /// Bits of a bit field, 0 otherwise.
    #[serde(default)]
    pub bitfield_size: u32,
}

/// A constant of an enum; the value may need 64 bits of either sign.
#[derive(Debug, Deserialize)]
pub struct Constant {
    pub name: String,
    pub val: serde_json::Number,
}

/// What a type is; kinds that hold no data are one.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "UPPERCASE")]
pub enum Kind {
    Int,
    Float,
    Ptr,
    Array,
    Struct,
    Union,
    Enum,
    Enum64,
    Fwd,
    Typedef,
    Const,
    Volatile,
    Restrict,
    #[serde(rename = "TYPE_TAG")]
    TypeTag,
    #[serde(rename = "FUNC_PROTO")]
    FuncProto,
    /// Functions, variables and what newer kernels add.
    #[serde(other)]
    Other,
}

/// All types of one kernel.
#[derive(Debug)]
pub struct Btf {
    types: HashMap<u32, Type>,
    by_name: HashMap<(Kind, String), Vec<u32>>,
}

impl Type {
    pub fn is_anonymous(&self) -> bool {
        self.name.is_empty() || self.name == ANONYMOUS
    }

    /// A modifier changes nothing of what is stored.
    pub const fn is_modifier(&self) -> bool {
        matches!(self.kind, Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag)
    }
}

impl Member {
    pub fn is_anonymous(&self) -> bool {
        self.name.is_empty() || self.name == ANONYMOUS
    }
}

impl Btf {
    /// Reads bpftool's JSON.
    pub fn parse(json: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Dump {
            types: Vec<Type>,
        }
        let dump: Dump = serde_json::from_slice(json).context("bpftool's output is not BTF")?;
        let mut by_name: HashMap<_, Vec<u32>> = HashMap::new();
        for one in dump.types.iter().filter(|one| !one.is_anonymous()) {
            by_name.entry((one.kind, one.name.clone())).or_default().push(one.id);
        }
        Ok(Self { types: dump.types.into_iter().map(|one| (one.id, one)).collect(), by_name })
    }

    /// A type by number; `None` is `void`.
    pub fn get(&self, id: u32) -> Option<&Type> {
        self.types.get(&id)
    }

    /// All types of this kind and name, in the order of the BTF.
    pub fn named(&self, kind: Kind, name: &str) -> impl Iterator<Item = &Type> {
        let ids = self.by_name.get(&(kind, name.to_owned())).map_or(&[][..], Vec::as_slice);
        ids.iter().filter_map(|id| self.types.get(id))
    }

    /// The type behind modifiers; typedefs stay.
    pub fn plain(&self, id: u32) -> Option<&Type> {
        let mut found = self.get(id)?;
        while found.is_modifier() {
            found = self.get(found.target)?;
        }
        Some(found)
    }

    /// The type behind modifiers and typedefs.
    pub fn resolved(&self, id: u32) -> Option<&Type> {
        let mut found = self.plain(id)?;
        while found.kind == Kind::Typedef {
            found = self.plain(found.target)?;
        }
        Some(found)
    }

    /// A constant's value, from the enum with the lowest number that has it.
    pub fn constant(&self, name: &str) -> Option<&serde_json::Number> {
        let with = self.types.values().filter(|one| matches!(one.kind, Kind::Enum | Kind::Enum64));
        with.filter_map(|one| Some((one.id, one.values.iter().find(|v| v.name == name)?)))
            .min_by_key(|(id, _)| *id)
            .map(|(_, constant)| &constant.val)
    }

    /// A member by name, also inside anonymous structs and unions.
    pub fn member<'a>(&'a self, record: &'a Type, name: &str) -> Option<&'a Member> {
        self.members(record).into_iter().find(|member| member.name == name)
    }

    /// All named members, those of anonymous structs and unions in their place.
    pub fn members<'a>(&'a self, record: &'a Type) -> Vec<&'a Member> {
        let mut found = Vec::new();
        for member in &record.members {
            match self.plain(member.type_id) {
                Some(inner) if member.is_anonymous() => found.extend(self.members(inner)),
                _ => found.push(member),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vmlinux::emit::tests::SMALL;

    #[test]
    fn finds_members_in_anonymous_records() {
        let btf = Btf::parse(SMALL.as_bytes()).unwrap();
        let task = btf.named(Kind::Struct, "task").next().unwrap();
        assert!(btf.member(task, "rcu_users").is_some());
        assert!(btf.member(task, "absent").is_none());
        assert_eq!(btf.named(Kind::Union, "task").count(), 0);
    }

    #[test]
    fn constants_keep_sign_and_width() {
        let btf = Btf::parse(SMALL.as_bytes()).unwrap();
        let value = |name| btf.constant(name).map(ToString::to_string);
        assert_eq!(value("MINUS").as_deref(), Some("-1"));
        assert_eq!(value("WIDE").as_deref(), Some("18446744073709551615"));
        assert_eq!(value("ABSENT"), None);
    }

    #[test]
    fn what_is_not_btf_is_an_error() {
        assert!(Btf::parse(b"{}").is_err());
        assert!(Btf::parse(b"Error: no BTF").is_err());
    }
}
