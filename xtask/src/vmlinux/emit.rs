// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes the requested types as C, each after the types that it embeds.
//!
//! A field's type is rendered by [`Emitter::declare`], from the outside in as C declarators
//! want it. Integers become `__u32` and the like, whatever typedefs they had; pointers to
//! records become forward declarations; function pointers `void *`. Fields of anonymous structs
//! and unions are written flat: CO-RE looks them up by name.

use super::btf::{Btf, Kind, Member, Type};
use super::spec::{Request, Spec, Tag};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const CORE: &str = "__attribute__((preserve_access_index))";

/// What libbpf's own headers take for granted.
const PRELUDE: &str = "\
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __s8 s8;
typedef __u8 u8;
typedef __s16 s16;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#if __STDC_VERSION__ < 202311L
typedef _Bool bool;
enum {
\tfalse = 0,
\ttrue = 1,
};
#endif
";

/// The whole header below its opening comment.
pub fn emit(btf: &Btf, spec: &Spec) -> Result<String> {
    let mut emitter = Emitter {
        btf,
        spec,
        forwards: BTreeSet::new(),
        begun: vec![false; spec.requests.len()],
        body: String::new(),
    };
    for at in 0..spec.requests.len() {
        emitter.request(at)?;
    }
    let mut text = PRELUDE.to_owned();
    text.push('\n');
    for forward in &emitter.forwards {
        text.push_str(forward);
        text.push_str(";\n");
    }
    text.push_str(&emitter.body);
    text.push_str("\n#endif /* __VMLINUX_H__ */\n");
    Ok(text)
}

struct Emitter<'a> {
    btf: &'a Btf,
    spec: &'a Spec,
    /// `struct name` of everything a pointer points to.
    forwards: BTreeSet<String>,
    /// Requests that are written or being written.
    begun: Vec<bool>,
    body: String,
}

impl<'a> Emitter<'a> {
    /// Writes a request and, before it, what it embeds; once.
    fn request(&mut self, at: usize) -> Result<()> {
        if std::mem::replace(&mut self.begun[at], true) {
            return Ok(());
        }
        let request = &self.spec.requests[at];
        let Request { tag, name, line, .. } = request;
        let text = match tag {
            Tag::Struct => self.record(request, Kind::Struct),
            Tag::Union => self.record(request, Kind::Union),
            Tag::Enum => self.enumeration(request),
            Tag::Typedef => self.typedef(request),
            Tag::Const => self.constants(request),
        }
        .with_context(|| format!("types.txt:{line}: {} {name}", tag.word()))?;
        self.body.push('\n');
        self.body.push_str(&text);
        Ok(())
    }

    fn record(&mut self, request: &Request, kind: Kind) -> Result<String> {
        let btf = self.btf;
        let word = request.tag.word();
        let has_all = |one: &&Type| {
            request.fields.iter().all(|field| field == "*" || btf.member(one, field).is_some())
        };
        let first = btf.named(kind, &request.name).next().context("is not in this kernel's BTF")?;
        // Two structs of one name happen; the one that has the fields is meant.
        let record = btf.named(kind, &request.name).find(has_all).unwrap_or(first);
        let fields = self.fields(record, &request.fields)?;
        Ok(format!("{word} {} {{\n{fields}}} {CORE};\n", request.name))
    }

    fn fields(&mut self, record: &'a Type, wanted: &[String]) -> Result<String> {
        let mut text = String::new();
        for name in wanted {
            if name == "*" {
                for member in self.btf.members(record) {
                    text.push_str(&self.field(member)?);
                }
                continue;
            }
            let member = self.btf.member(record, name).with_context(|| {
                format!(
                    "has no field `{name}` in this kernel's BTF; \
                     describe layouts of other kernels by hand"
                )
            })?;
            text.push_str(&self.field(member)?);
        }
        Ok(text)
    }

    fn field(&mut self, member: &Member) -> Result<String> {
        let name = &member.name;
        let declaration = self
            .declare(member.type_id, name.clone())
            .with_context(|| format!("field `{name}`"))?;
        Ok(match member.bitfield_size {
            0 => format!("\t{declaration};\n"),
            bits => format!("\t{declaration}: {bits};\n"),
        })
    }

    /// The declaration of `inner`, which is a name with the `*` and `[]` found so far.
    fn declare(&mut self, id: u32, inner: String) -> Result<String> {
        let Some(found) = self.btf.plain(id) else {
            return Ok(format!("void {inner}"));
        };
        match found.kind {
            Kind::Ptr => self.declare_pointer(found.target, &inner),
            Kind::Array => self.declare(found.target, format!("{inner}[{}]", found.nr_elems)),
            Kind::Typedef => match self.spec.find(Tag::Typedef, &found.name) {
                Some(at) => {
                    self.request(at)?;
                    Ok(format!("{} {inner}", found.name))
                }
                None if self.is_unnamed_record(found) => {
                    bail!("embeds typedef {0}; add `typedef {0}: FIELDS`", found.name)
                }
                None => self.declare(found.target, inner),
            },
            Kind::Struct => self.embed(Tag::Struct, found, &inner),
            Kind::Union => self.embed(Tag::Union, found, &inner),
            Kind::Enum | Kind::Enum64 => match self.spec.find(Tag::Enum, &found.name) {
                Some(at) => {
                    self.request(at)?;
                    Ok(format!("enum {} {inner}", found.name))
                }
                None => Ok(format!("{} {inner}", integer(found)?)),
            },
            _ => Ok(format!("{} {inner}", integer(found)?)),
        }
    }

    fn declare_pointer(&mut self, id: u32, inner: &str) -> Result<String> {
        let Some(target) = self.btf.resolved(id) else {
            return Ok(format!("void *{inner}"));
        };
        let record = match target.kind {
            Kind::Struct => "struct",
            Kind::Union => "union",
            Kind::Array => return self.declare(id, format!("(*{inner})")),
            Kind::Ptr | Kind::Int | Kind::Enum | Kind::Enum64 => {
                return self.declare(id, format!("*{inner}"));
            }
            // Functions, and records that even the kernel only knows by name.
            _ => return Ok(format!("void *{inner}")),
        };
        if target.is_anonymous() {
            return Ok(format!("void *{inner}"));
        }
        self.forwards.insert(format!("{record} {}", target.name));
        Ok(format!("{record} {} *{inner}", target.name))
    }

    fn embed(&mut self, tag: Tag, found: &Type, inner: &str) -> Result<String> {
        let word = tag.word();
        if found.is_anonymous() {
            bail!("is of an unnamed {word}; name the inner field in a hand-written type");
        }
        let Some(at) = self.spec.find(tag, &found.name) else {
            bail!("embeds {word} {0}; add `{word} {0}: FIELDS`", found.name);
        };
        self.request(at)?;
        Ok(format!("{word} {} {inner}", found.name))
    }

    fn is_unnamed_record(&self, typedef: &Type) -> bool {
        self.btf.plain(typedef.target).is_some_and(is_unnamed_record)
    }

    fn typedef(&mut self, request: &Request) -> Result<String> {
        let name = &request.name;
        let typedef =
            self.btf.named(Kind::Typedef, name).next().context("is not in this kernel's BTF")?;
        match self.btf.plain(typedef.target) {
            Some(record) if is_unnamed_record(record) => {
                let word = if record.kind == Kind::Union { "union" } else { "struct" };
                let fields = self.fields(record, &request.fields)?;
                Ok(format!("typedef {word} {{\n{fields}}} {CORE} {name};\n"))
            }
            _ => Ok(format!("typedef {};\n", self.declare(typedef.target, name.clone())?)),
        }
    }

    fn enumeration(&self, request: &Request) -> Result<String> {
        let named = |kind| self.btf.named(kind, &request.name).next();
        let found = named(Kind::Enum).or_else(|| named(Kind::Enum64));
        let found = found.context("is not in this kernel's BTF")?;
        let mut text = format!("enum {} {{\n", request.name);
        for constant in &found.values {
            if request.fields.is_empty() || request.fields.contains(&constant.name) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "\t{} = {},", constant.name, constant.val);
            }
        }
        let known = |name: &&String| !found.values.iter().any(|constant| constant.name == **name);
        if let Some(missing) = request.fields.iter().find(known) {
            bail!("has no constant `{missing}` in this kernel's BTF");
        }
        text.push_str("};\n");
        Ok(text)
    }

    fn constants(&self, request: &Request) -> Result<String> {
        let mut text = "enum {\n".to_owned();
        for name in &request.fields {
            let value = self.btf.constant(name);
            let value = value.with_context(|| format!("`{name}` is not in this kernel's BTF"))?;
            let suffix =
                if value.as_u64().is_some_and(|v| v > i64::MAX as u64) { "ULL" } else { "" };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\t{name} = {value}{suffix},");
        }
        text.push_str("};\n");
        Ok(text)
    }
}

fn is_unnamed_record(found: &Type) -> bool {
    matches!(found.kind, Kind::Struct | Kind::Union) && found.is_anonymous()
}

/// The basic typedef of an integer or enum: by size and sign only.
fn integer(found: &Type) -> Result<&'static str> {
    // bpftool prints no CHAR encoding for the kernel's char, so the name decides.
    if found.name == "char" {
        return Ok("char");
    }
    let signed = found.encoding == "SIGNED";
    Ok(match (found.kind, found.size, found.encoding.as_str()) {
        (Kind::Int, 1, "BOOL") => "bool",
        (Kind::Int | Kind::Enum, 1, _) => ["__u8", "__s8"][usize::from(signed)],
        (Kind::Int | Kind::Enum, 2, _) => ["__u16", "__s16"][usize::from(signed)],
        (Kind::Int | Kind::Enum, 4, _) => ["__u32", "__s32"][usize::from(signed)],
        (Kind::Int | Kind::Enum64, 8, _) => ["__u64", "__s64"][usize::from(signed)],
        (kind, size, _) => bail!("is a {kind:?} of {size} bytes, which BPF cannot read"),
    })
}

#[cfg(test)]
#[path = "emit_tests.rs"]
pub mod tests;
