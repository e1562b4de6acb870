// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the C writer, on a small BTF made by hand; `SMALL` serves the neighbours' tests too.

use super::*;

/// A few types with everything that is awkward: anonymous members, bit fields, typedef chains,
/// modifiers, function pointers, embedded records, arrays of arrays, wide constants.
pub const SMALL: &str = r#"{"types":[
 {"id":1,"kind":"INT","name":"int","size":4,"encoding":"SIGNED"},
 {"id":2,"kind":"INT","name":"char","size":1,"encoding":"(none)"},
 {"id":3,"kind":"INT","name":"long unsigned int","size":8,"encoding":"(none)"},
 {"id":4,"kind":"INT","name":"_Bool","size":1,"encoding":"BOOL"},
 {"id":5,"kind":"TYPEDEF","name":"__kernel_pid_t","type_id":1},
 {"id":6,"kind":"TYPEDEF","name":"pid_t","type_id":5},
 {"id":7,"kind":"ARRAY","name":"(anon)","type_id":2,"index_type_id":1,"nr_elems":16},
 {"id":8,"kind":"STRUCT","name":"(anon)","size":4,"members":[{"name":"counter","type_id":1}]},
 {"id":9,"kind":"TYPEDEF","name":"refcount_t","type_id":8},
 {"id":10,"kind":"UNION","name":"(anon)","size":8,"members":[
   {"name":"rcu_users","type_id":9},{"name":"rcu","type_id":3}]},
 {"id":11,"kind":"STRUCT","name":"entity","size":8,"members":[{"name":"vruntime","type_id":3}]},
 {"id":12,"kind":"PTR","name":"(anon)","type_id":13},
 {"id":13,"kind":"CONST","name":"(anon)","type_id":14},
 {"id":14,"kind":"STRUCT","name":"mm","size":8,"members":[]},
 {"id":15,"kind":"FUNC_PROTO","name":"(anon)","ret_type_id":0},
 {"id":16,"kind":"PTR","name":"(anon)","type_id":15},
 {"id":17,"kind":"TYPEDEF","name":"handler_t","type_id":16},
 {"id":18,"kind":"ENUM","name":"mode","encoding":"UNSIGNED","size":4,"values":[
   {"name":"OFF","val":0},{"name":"ON","val":1}]},
 {"id":19,"kind":"ENUM","name":"(anon)","encoding":"SIGNED","size":4,"values":[
   {"name":"MINUS","val":-1}]},
 {"id":20,"kind":"ENUM64","name":"(anon)","encoding":"UNSIGNED","size":8,"values":[
   {"name":"WIDE","val":18446744073709551615}]},
 {"id":21,"kind":"STRUCT","name":"task","size":99,"members":[
   {"name":"pid","type_id":6},{"name":"comm","type_id":7},{"name":"(anon)","type_id":10},
   {"name":"se","type_id":11},{"name":"mm","type_id":12},{"name":"handler","type_id":17},
   {"name":"mode","type_id":18},{"name":"woken","type_id":4,"bitfield_size":1},
   {"name":"last","type_id":24},{"name":"grid","type_id":25},{"name":"rows","type_id":26},
   {"name":"slots","type_id":27},{"name":"any","type_id":28}]},
 {"id":22,"kind":"FWD","name":"task","fwd_kind":"struct"},
 {"id":23,"kind":"VOLATILE","name":"(anon)","type_id":21},
 {"id":24,"kind":"PTR","name":"(anon)","type_id":23},
 {"id":25,"kind":"ARRAY","name":"(anon)","type_id":7,"nr_elems":2},
 {"id":26,"kind":"PTR","name":"(anon)","type_id":7},
 {"id":27,"kind":"ARRAY","name":"(anon)","type_id":12,"nr_elems":3},
 {"id":28,"kind":"PTR","name":"(anon)","type_id":0},
 {"id":29,"kind":"DECL_TAG","name":"bpf_kfunc","type_id":15,"component_idx":-1},
 {"id":30,"kind":"STRUCT","name":"twice","size":4,"members":[{"name":"old","type_id":1}]},
 {"id":31,"kind":"STRUCT","name":"twice","size":4,"members":[{"name":"new","type_id":1}]}
]}"#;

fn written(spec: &str) -> Result<String> {
    let btf = Btf::parse(SMALL.as_bytes()).unwrap();
    let text = emit(&btf, &Spec::parse(spec).unwrap())?;
    let body = text.strip_prefix(PRELUDE).unwrap();
    Ok(body.trim_end_matches("\n#endif /* __VMLINUX_H__ */\n").trim().to_owned())
}

#[test]
fn each_kind_of_field() {
    for (field, expected) in [
        ("pid", "__s32 pid;"),
        ("comm", "char comm[16];"),
        ("rcu", "__u64 rcu;"),
        ("mm", "struct mm *mm;"),
        ("handler", "void *handler;"),
        ("mode", "__u32 mode;"),
        ("woken", "bool woken: 1;"),
        ("last", "struct task *last;"),
        ("grid", "char grid[2][16];"),
        ("rows", "char (*rows)[16];"),
        ("slots", "struct mm *slots[3];"),
        ("any", "void *any;"),
    ] {
        let text = written(&format!("struct task: {field}\n")).unwrap();
        assert!(text.contains(&format!("{{\n\t{expected}\n}}")), "{field}: {text}");
    }
}

#[test]
fn a_whole_struct() {
    let spec =
        "struct task: pid rcu_users se mm\nstruct entity: vruntime\ntypedef refcount_t: counter\n";
    assert_eq!(
        written(spec).unwrap(),
        "struct mm;\n\n\
         typedef struct {\n\t__s32 counter;\n} __attribute__((preserve_access_index)) refcount_t;\n\n\
         struct entity {\n\t__u64 vruntime;\n} __attribute__((preserve_access_index));\n\n\
         struct task {\n\t__s32 pid;\n\trefcount_t rcu_users;\n\tstruct entity se;\n\
         \tstruct mm *mm;\n} __attribute__((preserve_access_index));"
    );
}

#[test]
fn listed_typedefs_and_enums_keep_their_names() {
    let text = written("struct task: pid mode\nenum mode: ON\ntypedef pid_t\n").unwrap();
    for part in ["typedef __s32 pid_t;", "enum mode {\n\tON = 1,\n};", "\tenum mode mode;\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.find("typedef __s32").unwrap() < text.find("struct task {").unwrap(), "{text}");
}

#[test]
fn all_fields_and_constants() {
    let spec = "struct entity: *\nconst MINUS WIDE\n";
    let text = written(spec).unwrap();
    assert!(text.contains("{\n\t__u64 vruntime;\n}"), "{text}");
    assert!(
        text.contains("enum {\n\tMINUS = -1,\n\tWIDE = 18446744073709551615ULL,\n};"),
        "{text}"
    );
}

#[test]
fn of_two_structs_the_one_with_the_field() {
    assert!(written("struct twice: new\n").unwrap().contains("__s32 new;"));
}

#[test]
fn errors_say_what_to_add() {
    for (spec, expected) in [
        ("struct task: se\n", "add `struct entity: FIELDS`"),
        ("struct task: rcu_users\n", "add `typedef refcount_t: FIELDS`"),
        ("struct task: absent\n", "types.txt:1: struct task: has no field `absent`"),
        ("\nstruct absent: x\n", "types.txt:2: struct absent: is not in this kernel's BTF"),
        ("enum mode: HALF\n", "has no constant `HALF`"),
        ("const ABSENT\n", "`ABSENT` is not in this kernel's BTF"),
    ] {
        let error = format!("{:#}", written(spec).unwrap_err());
        assert!(error.contains(expected), "{spec}: {error}");
    }
}
