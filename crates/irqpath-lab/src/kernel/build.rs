// SPDX-License-Identifier: GPL-2.0-or-later
//! Our own kernels, compiled from the source with the fragments in `kernel/config`.
//!
//! Two builds from the same inputs are the same byte for byte, in any place and at any time:
//! user, host and time are fixed, and paths are mapped away. A build that was killed goes on
//! where it was; should that fail, it starts anew. What is kept is small: the image, its
//! symbols and types, and what building a module takes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use super::config::Fragment;
use super::error::io_at;
use super::image::version_string;
use super::pins::{Pins, SourcePin};
use super::run::{Lines, run_for_output, run_watched, tool_command};
use super::source::{Additions, Extent, unpack_pristine, with_additions};
use super::{Arch, Flavour, Kernel, KernelError, Toolchain};
use crate::cache::{Inputs, Product, Staging, hash_file, remove_directory};
use crate::own;
use crate::{Lab, Project, Unit};

/// Version of the recipe below.
const RECIPE: u32 = 1;

/// What the project says about a kernel of ours.
struct Described {
    flavour: Flavour,
    pins: Pins,
    additions: Additions,
    fragment: Fragment,
}

/// What one build is made from.
struct Recipe<'a> {
    lab: &'a Lab,
    described: Described,
    toolchain: Toolchain,
    tools: String,
}

/// For each flavour of ours the digest of what the project says about it. Unlike the key in the
/// cache it is the same on every machine: the versions of compiler and linker are not in it.
pub(super) fn digest_flavours(project: &Project) -> Result<BTreeMap<Flavour, String>, KernelError> {
    let pins = Pins::read(project)?;
    let offered = |flavour: &Flavour| !flavour.is_stock() && pins.find_source(*flavour).is_ok();
    let digest = |flavour| {
        let described = Described::read(project, flavour)?;
        Ok((flavour, described.digest_inputs(described.pins.find_source(flavour)?)?))
    };
    Flavour::ALL.iter().copied().filter(offered).map(digest).collect()
}

/// Provide a kernel of ours.
pub(super) fn provide_own(lab: &Lab, flavour: Flavour, arch: Arch) -> Result<Kernel, KernelError> {
    let recipe = Recipe::for_flavour(lab, flavour, arch)?;
    let listed = recipe.described.pins.find_source(flavour)?.clone();
    if let Some(path) = lab.cache.find_product(&recipe.describe_product(&listed)?) {
        let digest = recipe.described.digest_inputs(&listed)?;
        return Ok(Kernel { digest, ..Kernel::load(&path)? });
    }
    let path = lab.cache.provide_product(
        &recipe.describe_product(&listed)?,
        &lab.progress,
        |staging| {
            let source = unpack_pristine(lab, &listed, Extent::Flavours)?;
            let source = with_additions(lab, &source, &recipe.described.additions)?;
            recipe.make_kernel(staging, &source, &listed)
        },
    )?;
    let digest = recipe.described.digest_inputs(&listed)?;
    Ok(Kernel { digest, ..Kernel::load(&path)? })
}

/// A kernel of ours, if the cache has it.
pub(super) fn find_cached(lab: &Lab, flavour: Flavour) -> Option<Kernel> {
    let recipe = Recipe::for_flavour(lab, flavour, Arch::X86_64).ok()?;
    let product = recipe.describe_product(recipe.described.pins.find_source(flavour).ok()?).ok()?;
    Kernel::load(&lab.cache.find_product(&product)?).ok()
}

/// The source of our kernels as Debian has it.
///
/// # Errors
/// If there is none, and none can be had.
pub fn provide_source(lab: &Lab) -> Result<PathBuf, KernelError> {
    unpack_pristine(lab, &Pins::read(&lab.project)?.source, Extent::Flavours)
}

/// The same, every file: the flavours leave out drivers that a distribution's kernel has.
///
/// # Errors
/// If there is none, and none can be had.
pub fn provide_whole_source(lab: &Lab) -> Result<PathBuf, KernelError> {
    unpack_pristine(lab, &Pins::read(&lab.project)?.source, Extent::Whole)
}

/// The fragments of a flavour, in the order in which they apply.
fn fragment_paths(project: &Project, flavour: Flavour) -> Vec<PathBuf> {
    let names: &[&str] = match flavour {
        Flavour::Debug => &["base", "debug"],
        Flavour::Unconfigured | Flavour::Unpatched => &["base", "unconfigured"],
        Flavour::Irqpath7x => &["base", "7.x"],
        Flavour::Debug7x => &["base", "debug", "7.x"],
        Flavour::Unpatched7x => &["base", "unconfigured", "7.x"],
        _ => &["base"],
    };
    let directory = project.kernel().join("config");
    names.iter().map(|name| directory.join(format!("{name}.config"))).collect()
}

impl Described {
    fn read(project: &Project, flavour: Flavour) -> Result<Self, KernelError> {
        let pins = Pins::read(project)?;
        let paths = fragment_paths(project, flavour);
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let additions = match flavour {
            Flavour::Unpatched | Flavour::Unpatched7x => Additions::none(),
            _ => Additions::find(project, pins.find_source(flavour)?),
        };
        Ok(Self { flavour, fragment: Fragment::read(&paths)?, pins, additions })
    }

    /// Built from this source with these tools.
    fn list_inputs(&self, source: &SourcePin, tools: &str) -> Result<Inputs, KernelError> {
        let inputs = Inputs::new("own kernel", RECIPE)
            .value("flavour", self.flavour.name())
            .value("source", &source.package)
            .value("version", &source.version)
            .value("tools", tools)
            .value("config", &self.fragment.format_options());
        self.additions.add_to(inputs)
    }

    fn digest_inputs(&self, source: &SourcePin) -> Result<String, KernelError> {
        Ok(self.list_inputs(source, "any")?.key())
    }
}

impl<'a> Recipe<'a> {
    fn for_flavour(lab: &'a Lab, flavour: Flavour, arch: Arch) -> Result<Self, KernelError> {
        if arch != Arch::X86_64 || Arch::host() != Some(arch) {
            return Err(KernelError::NotOffered { flavour, arch });
        }
        let described = Described::read(&lab.project, flavour)?;
        let toolchain = Toolchain::provide(lab, arch)?;
        let tools = toolchain.read_versions(&[&described.pins.compiler, "ld", "pahole"])?;
        Ok(Self { lab, described, toolchain, tools })
    }

    fn describe_product(&self, source: &SourcePin) -> Result<Product, KernelError> {
        let inputs = self.described.list_inputs(source, &self.tools)?;
        let label = format!("{}-{}", self.described.flavour, Arch::X86_64);
        Ok(Product { kind: "kernels", label, inputs, resumable: true })
    }

    fn make_kernel(
        &self,
        staging: &Staging,
        source: &Path,
        chosen: &SourcePin,
    ) -> Result<(), KernelError> {
        let build = Build { recipe: self, staging, source, objects: staging.directory.join("obj") };
        let interrupted = build.objects.exists();
        let compiled = build.compile_kernel();
        if interrupted && compiled.is_err() {
            // Half-written files of a power cut look like errors of the source.
            remove_directory(&build.objects)?;
            build.compile_kernel()?;
        } else {
            compiled?;
        }
        let modules = build.keep_files()?;
        let release = build.read_release()?;
        remove_directory(&build.objects)?;
        build.describe_kernel(release, modules, chosen)?.save(&staging.directory)
    }
}

/// One build in its staging directory.
struct Build<'a> {
    recipe: &'a Recipe<'a>,
    staging: &'a Staging,
    source: &'a Path,
    objects: PathBuf,
}

impl Build<'_> {
    fn compile_kernel(&self) -> Result<(), KernelError> {
        own::make_directory(&self.objects).map_err(io_at(&self.objects, "write"))?;
        self.write_config()?;
        let jobs = thread::available_parallelism().map_or(1, usize::from);
        let what = format!("compiling {}", self.recipe.described.flavour);
        let log = self.staging.directory.join("build.log");
        let progress = &self.recipe.lab.progress;
        progress.begin_step(&what, Some(nr_lines(self.recipe.described.flavour)), Unit::Steps);
        let mut lines = Lines::in_file(&log);
        let mut make = self.make_command();
        make.arg(format!("-j{jobs}")).args(["bzImage", "modules"]).stdin(self.staging.stdin());
        run_watched(&mut make, &what, &log, || progress.set_done(lines.count_lines()))
    }

    /// Everything off but the fragments, and then see that they came true.
    fn write_config(&self) -> Result<(), KernelError> {
        let wanted = self.objects.join("wanted.config");
        let path = self.objects.join(".config");
        if !path.exists() {
            let text = self.recipe.described.fragment.format_options();
            own::write(&wanted, text).map_err(io_at(&wanted, "write"))?;
            let mut make = self.make_command();
            make.env("KCONFIG_ALLCONFIG", &wanted).arg("allnoconfig");
            run_for_output(&mut make, "configuring the kernel")?;
        }
        let config = own::read_text(&path).map_err(io_at(&path, "read"))?;
        let lost = self.recipe.described.fragment.lost_in(&config);
        if lost.is_empty() { Ok(()) } else { Err(KernelError::ConfigLost { options: lost }) }
    }

    fn make_command(&self) -> Command {
        let compiler = &self.recipe.described.pins.compiler;
        let maps = [self.source, &self.objects]
            .map(|path| format!("-ffile-prefix-map={}=.", path.display()))
            .join(" ");
        let mut make = tool_command("make");
        make.env("PATH", self.recipe.toolchain.search_path());
        make.arg("-C").arg(self.source).arg(format!("O={}", self.objects.display()));
        make.arg(format!("ARCH={}", Arch::X86_64.kbuild()));
        make.arg(format!("CC={compiler}")).arg(format!("HOSTCC={compiler}"));
        // Debug information is for types (BTF) only; where variables live is not asked for, and
        // is a third of it.
        make.arg(format!("KCFLAGS={maps} -fno-var-tracking")).arg(format!("KAFLAGS={maps}"));
        fix_builder(&mut make);
        make
    }

    fn read_release(&self) -> Result<String, KernelError> {
        let path = self.objects.join("include/config/kernel.release");
        let text = own::read_text(&path).map_err(io_at(&path, "read"))?;
        Ok(text.trim().to_owned())
    }

    /// Take out of the objects what is used later; returns the modules.
    fn keep_files(&self) -> Result<Vec<PathBuf>, KernelError> {
        let directory = &self.staging.directory;
        for (from, to) in [
            ("arch/x86/boot/bzImage", "vmlinuz"),
            ("System.map", "System.map"),
            (".config", "config"),
        ] {
            let from = self.objects.join(from);
            own::copy(&from, directory.join(to)).map_err(io_at(&from, "copy"))?;
        }
        let build = directory.join("build");
        remove_directory(&build)?;
        let script = "$(srctree)/scripts/package/install-extmod-build";
        let run = format!("KBUILD_RUN_COMMAND=+{script} {}", build.display());
        run_for_output(
            self.make_command().args(["run-command", &run]),
            "keeping what modules are built with",
        )?;
        own::copy(self.objects.join(".config"), build.join(".config"))
            .map_err(io_at(&build, "write"))?;
        let stripped = build.join("vmlinux");
        let mut objcopy = self.objcopy_command();
        objcopy.arg("--strip-debug").arg(self.objects.join("vmlinux")).arg(stripped);
        run_for_output(&mut objcopy, "stripping vmlinux")?;
        self.keep_modules()
    }

    fn objcopy_command(&self) -> Command {
        tool_command(&self.recipe.toolchain.program_path("objcopy").to_string_lossy())
    }

    /// What a flavour has as modules, which is little: tests of the kernel's own. Relative paths.
    fn keep_modules(&self) -> Result<Vec<PathBuf>, KernelError> {
        let directory = self.staging.directory.join("modules");
        remove_directory(&directory)?;
        own::make_directory(&directory).map_err(io_at(&directory, "write"))?;
        let order = self.objects.join("modules.order");
        let order = own::read_text(&order).map_err(io_at(&order, "read"))?;
        let mut kept = Vec::new();
        for object in order.lines() {
            let module = self.objects.join(object).with_extension("ko");
            let to = Path::new("modules").join(module.file_name().unwrap_or_default());
            let mut objcopy = self.objcopy_command();
            objcopy.arg("--strip-debug").arg(module).arg(self.staging.directory.join(&to));
            run_for_output(&mut objcopy, "stripping a module")?;
            kept.push(to);
        }
        kept.sort();
        Ok(kept)
    }

    fn describe_kernel(
        &self,
        release: String,
        modules: Vec<PathBuf>,
        source: &SourcePin,
    ) -> Result<Kernel, KernelError> {
        let image = self.staging.directory.join("vmlinuz");
        Ok(Kernel {
            flavour: self.recipe.described.flavour,
            arch: Arch::X86_64,
            release,
            package_version: source.version.clone(),
            version_string: version_string(&image, Arch::X86_64)?,
            sha256: hash_file(&image).map_err(io_at(&image, "read"))?,
            digest: String::new(),
            image: "vmlinuz".into(),
            config: "config".into(),
            compiler: self.recipe.described.pins.compiler.clone(),
            vmlinux: Some("build/vmlinux".into()),
            build: Some("build".into()),
            system_map: Some("System.map".into()),
            modules,
            directory: PathBuf::new(),
        })
    }
}

/// User, host and time of every build. A fixed time also keeps pahole from working in parallel,
/// which would order the types by chance.
pub(super) fn fix_builder(make: &mut Command) {
    make.env("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970");
    make.env("KBUILD_BUILD_USER", "irqpath").env("KBUILD_BUILD_HOST", "lab");
    make.env("KBUILD_BUILD_VERSION", "1");
}

/// Lines that make prints for a flavour, measured; for the progress line only.
const fn nr_lines(flavour: Flavour) -> u64 {
    match flavour {
        Flavour::Debug | Flavour::Debug7x => 1800,
        _ => 1700,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A project with as little as the digests need.
    fn write_file(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_digest_follows_what_its_flavour_is_made_of() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in ["base", "debug", "unconfigured"] {
            write_file(root, &format!("kernel/config/{name}.config"), "CONFIG_A=y\n");
        }
        let pins = "compiler = \"gcc\"\nsource = { package = \"linux-source-6.12\", version = \"1\" }\n\
                    [image]\n";
        write_file(root, "lab/kernels.toml", pins);
        let project = Project::at(root).unwrap();
        let mut before = digest_flavours(&project).unwrap();
        assert_eq!(before.len(), 4);
        let all: &[Flavour] =
            &[Flavour::Irqpath, Flavour::Debug, Flavour::Unconfigured, Flavour::Unpatched];
        let table = [
            ("kernel/config/debug.config", "CONFIG_B=y\n", &all[1..2]),
            ("kernel/config/unconfigured.config", "CONFIG_C=y\n", &all[2..]),
            ("kernel/overlay/a.c", "int a;\n", &all[..3]),
            ("kernel/overlay/Documentation/a.rst", "a\n", &[]),
            ("kernel/overlay/tools/testing/selftests/a/a.sh", "a\n", &[]),
            ("kernel/hooks/6.12/series", "a.patch\n", &all[..3]),
            ("kernel/hooks/6.1/series", "a.patch\n", &[]),
            ("kernel/config/base.config", "# a comment\nCONFIG_A=y\n", &[]),
            ("lab/kernels.toml", &pins.replace("\"1\"", "\"2\""), all),
        ];
        for (file, text, expected) in table {
            write_file(root, file, text);
            let after = digest_flavours(&project).unwrap();
            let changed: Vec<_> = all.iter().filter(|f| before[f] != after[f]).copied().collect();
            assert_eq!(changed, expected, "{file}");
            before = after;
        }
    }
}
