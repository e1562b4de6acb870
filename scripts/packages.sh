#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes packages of the commit that is checked out, in target/packages. Changes that are not
# committed are not in them. docs/packages.md says which package has which files.
#
#   scripts/packages.sh [--revision N] [--to DIR] [KIND...]
#
# KIND is deb (for this machine), rpm, static (a tarball), oci (a container image), or arm64 (all of
# these, cross-built); without one, all of these are made. kernel, the irqpath kernel as Debian
# packages, takes hours and is made only if it is named. N counts packages of one version, 1 unless set.
# Paths of this machine are mapped to neutral ones; a binary that has one of them is refused.
# The first run compiles everything; later ones what has changed.
# Exit codes: 0 made, 1 something failed, 2 a tool is missing or the arguments are wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
umask 022

usage='usage: scripts/packages.sh [--revision N] [--to DIR] [deb|arm64|rpm|static|oci|kernel]...'
work=$(realpath -m target/packages)
to=$work
revision=1
kinds=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --revision) revision=${2:?$usage}; shift ;;
    --to) to=$(realpath -m "${2:?$usage}"); shift ;;
    deb | arm64 | rpm | static | oci | kernel) kinds+=("$1") ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done
if [[ ${#kinds[@]} == 0 ]]; then kinds=(deb arm64 rpm static oci); fi
if [[ ! $revision =~ ^[1-9][0-9]*$ ]]; then echo "$usage" >&2; exit 2; fi

die() { echo "packages: $*" >&2; exit 2; }
need() {
  local tool
  for tool; do
    command -v "$tool" >/dev/null || die "$tool is not installed; run scripts/setup.sh --with packages"
  done
}

need git dpkg-architecture dpkg-buildflags cargo
# The only place with the version number; the module can also be installed without a package.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
in_module=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' kernel/module/intsight/dkms.conf)
[[ $version == "$in_module" ]] ||
  die "Cargo.toml has version $version, kernel/module/intsight/dkms.conf $in_module; correct the latter"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
maintainer='irqpath developers <irqpath@example.org>'
machine=$(dpkg-architecture -qDEB_BUILD_GNU_CPU)
source=$work/source/irqpath-$version
developers_target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# A directory of its own, because its objects have other paths in them than those of `make build`.
export CARGO_TARGET_DIR=$work/cargo CARGO_INCREMENTAL=0
export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}
mapped="--remap-path-prefix=$source=/usr/src/irqpath-$version"
mapped+=" --remap-path-prefix=$CARGO_TARGET_DIR=/usr/src/irqpath-$version/target"
mapped+=" --remap-path-prefix=$CARGO_HOME/registry/src=/usr/share/cargo/registry"
mapped+=" --remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=/usr/src/rust"
export RUSTFLAGS=$mapped
# inferno, which draws flame graphs that can be zoomed, is under the CDDL. A binary that contains it
# and GPL code may not be given to others.
features=(--no-default-features)

# Brings the sources to the commit. Files that are the same keep their times, for cargo goes by these.
update_source() {
  local git=(git --work-tree="$source")
  export GIT_INDEX_FILE=$work/index
  rm -rf "$source/debian"
  mkdir -p "$source" "$to"
  "${git[@]}" read-tree --reset -u HEAD
  "${git[@]}" update-index -q --refresh || true
  "${git[@]}" checkout-index --quiet --force --all
  unset GIT_INDEX_FILE
  # The licences of all crates in the binary.
  as_developers cargo xtask notices "${features[@]}" >"$source/NOTICES"
}

# as_developers COMMAND...: for programs that go into no package.
as_developers() { env -u RUSTFLAGS CARGO_TARGET_DIR="$developers_target" "$@"; }

# Flags for the C code of crates, as Debian hardens its own. Optimisation is the crates' choice.
c_flags() {
  local name flags="-ffile-prefix-map=$CARGO_HOME/registry/src=/usr/share/cargo/registry"
  flags+=" -ffile-prefix-map=$CARGO_TARGET_DIR=/usr/src/irqpath-$version/target"
  export DEB_CFLAGS_STRIP='-g -O2'
  export DEB_BUILD_MAINT_OPTIONS=reproducible=-fixfilepath,-fixdebugpath
  for name in CFLAGS CPPFLAGS; do
    flags+=" $(dpkg-architecture -a"$1" -f -c dpkg-buildflags --get "$name" 2>/dev/null)"
  done
  echo "$flags"
}

# build_binary NAME CARGO_ARGUMENT... [-- RUSTC_ARGUMENT...]: compiles, and keeps the binary as NAME.
build_binary() {
  local name=$1 built=$CARGO_TARGET_DIR/${CARGO_BUILD_TARGET:-}/release/irqpath
  shift
  (cd "$source" && cargo rustc --locked --quiet --release "${features[@]}" -p irqpath --bin irqpath "$@")
  install -D -m 755 "$built" "$work/bin/$name/irqpath"
  if grep -qF -e "$CARGO_HOME" -e "$HOME/" -e "$work" "$work/bin/$name/irqpath"; then
    echo "packages: the binary $name has paths of this machine in it" >&2
    return 1
  fi
}

# The C library, libelf and zlib as well; what libelf.a needs besides differs between distributions.
# Not by lld, Rust's usual linker: what it makes of this jumps to 0 before main().
build_static() {
  local arguments=(-C target-feature=+crt-static -C link-arg=-fuse-ld=bfd) library
  for library in $(pkg-config --static --libs-only-l libelf); do arguments+=(-C "link-arg=$library"); done
  build_binary static -- "${arguments[@]}"
}

# debian_package DPKG_ARGUMENT...
debian_package() {
  local made=$work/source
  rm -rf "$source/debian" "$made"/*.deb
  cp -r "$source/packaging/debian" "$source/debian"
  cat >"$source/debian/changelog" <<END
irqpath ($version-$revision) unstable; urgency=medium

  * Package irqpath $version. CHANGELOG.md lists what users notice.

 -- $maintainer  $(git log -1 --format=%cD)
END
  # Rust is often installed by rustup, which dpkg does not know: -d.
  if ! (cd "$source" && dpkg-buildpackage -d -nc -uc -us "$@") >"$work/dpkg.log" 2>&1; then
    tail -n 20 "$work/dpkg.log" >&2
    return 1
  fi
  mv "$made"/*.deb "$to"
  rm -f "$made"/*.changes "$made"/*.buildinfo
}

make_deb() {
  need dh dh_dkms
  build_binary dynamic
  BIN=$work/bin/dynamic/irqpath debian_package --build=binary
}

make_arm64() {
  need dh xz aarch64-linux-gnu-gcc
  [[ $machine == x86_64 ]] || die 'packages for arm64 are cross-built on x86-64; elsewhere use deb'
  build_binary dynamic # it writes the man pages
  local environment
  environment=$(as_developers scripts/arm64.sh --environment)
  (
    eval "$environment"
    export CARGO_BUILD_TARGET=aarch64-unknown-linux-gnu
    CFLAGS_aarch64_unknown_linux_gnu=$(c_flags arm64)
    export CFLAGS_aarch64_unknown_linux_gnu
    build_binary arm64
    build_binary arm64-static -- -C target-feature=+crt-static
  )
  pack_static arm64-static aarch64 "$work/bin/dynamic/irqpath"
  pack_image arm64-static aarch64 arm64
  pack_rpm arm64 --target aarch64 --define "writer $work/bin/dynamic/irqpath"
  BIN=$work/bin/arm64/irqpath WRITER=$work/bin/dynamic/irqpath debian_package --build=any -aarm64
}

make_rpm() {
  build_binary dynamic
  pack_rpm dynamic
}

# pack_rpm BINARY RPMBUILD_ARGUMENT...: the rpm of a binary of build_binary, for the machine that the
# arguments name.
pack_rpm() {
  need rpmbuild
  local binary=$1 definition definitions=()
  shift
  for definition in "irqpath_version $version" "irqpath_revision $revision" "_topdir $work/rpm" \
    "binary $work/bin/$binary/irqpath" "use_source_date_epoch_as_buildtime 1" \
    "clamp_mtime_to_source_date_epoch 1" "_buildhost localhost"; do
    definitions+=(--define "$definition")
  done
  rm -rf "$work/rpm"
  mkdir -p "$work/rpm"
  # What it builds with is installed, but not by rpm: --nodeps.
  if ! (cd "$source" && rpmbuild -bb --build-in-place --nodeps "${definitions[@]}" "$@" \
    packaging/rpm/irqpath.spec) >"$work/rpm.log" 2>&1; then
    tail -n 20 "$work/rpm.log" >&2
    return 1
  fi
  mv "$work"/rpm/RPMS/*/*.rpm "$to"
}

make_static() {
  need xz
  build_static
  pack_static static "$machine" "$work/bin/static/irqpath"
}

# pack_static BINARY MACHINE WRITER: the tarball of a binary of build_binary; WRITER, one that runs here,
# writes its pages.
pack_static() {
  local writer=$3 name=irqpath-$version-$2-static
  local tree=$work/static/$name
  rm -rf "$work/static"
  install -D -m 755 "$work/bin/$1/irqpath" "$tree/irqpath"
  install -m 644 "$source"/{LICENSE,NOTICES,README.md,SECURITY.md,CHANGELOG.md} "$tree"
  mkdir "$tree/man" "$tree/completions"
  "$writer" generate man "$tree/man"
  "$writer" generate completions "$tree/completions"
  tar -C "$work/static" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
    --numeric-owner --mode=u+rwX,go+rX,go-w -c "$name" | xz -6 >"$to/$name.tar.xz"
}

make_oci() {
  build_static
  pack_image static "$machine" "$(dpkg-architecture -qDEB_BUILD_ARCH)"
}

# pack_image BINARY MACHINE ARCHITECTURE: the container image of a binary of build_binary. Without a base
# image: the binary and its licences.
pack_image() {
  need buildah
  local storage=$work/oci archive=$to/irqpath-$version-$2-oci.tar container label
  local buildah=(buildah --root "$storage/root" --runroot "$storage/run" --storage-driver vfs)
  rm -rf "$storage" "$archive"
  container=$("${buildah[@]}" from --arch "$3" scratch)
  "${buildah[@]}" copy --quiet "$container" "$work/bin/$1/irqpath" /usr/bin/irqpath >/dev/null
  "${buildah[@]}" copy --quiet "$container" "$source/LICENSE" "$source/NOTICES" /usr/share/doc/irqpath/ >/dev/null
  local labels=("title=irqpath" "version=$version" "licenses=GPL-2.0-or-later"
    "description=trace every interrupt to the task that waits for it")
  for label in "${labels[@]}"; do
    "${buildah[@]}" config --label "org.opencontainers.image.$label" "$container"
  done
  "${buildah[@]}" config --arch "$3" --env PATH=/usr/bin --entrypoint '["irqpath"]' --cmd --help "$container"
  "${buildah[@]}" commit --quiet --disable-compression=false --timestamp "$SOURCE_DATE_EPOCH" --rm "$container" \
    "oci-archive:$archive:irqpath:$version" >/dev/null
  rm -rf "$storage"
}

# Of the files that are checked out: its build takes its time from the commit.
make_kernel() {
  as_developers scripts/kernel-package.sh "$work/kernel"
  mv "$work"/kernel/linux-{image,headers,libc-dev}*.deb "$to"
}

make_kind() {
  case $1 in
    deb) make_deb ;;
    arm64) make_arm64 ;;
    rpm) make_rpm ;;
    static) make_static ;;
    oci) make_oci ;;
    kernel) make_kernel ;;
  esac
}

CFLAGS_x86_64_unknown_linux_gnu=$(c_flags amd64)
export CFLAGS_x86_64_unknown_linux_gnu
update_source
failed=0
for kind in "${kinds[@]}"; do
  started=$SECONDS
  # A command that fails ends the inner shell, which it would not in a condition.
  set +e
  (set -e; make_kind "$kind")
  code=$?
  set -e
  if [[ $code == 0 ]]; then
    echo "packages: ok      $kind ($((SECONDS - started)) s)"
  else
    echo "packages: FAILED  $kind ($((SECONDS - started)) s)"
    failed=1
  fi
done
shopt -s nullglob
(cd "$to" && sha256sum irqpath*.* linux-*.deb >SHA256SUMS && stat -c '%s %n' irqpath*.* linux-*.deb)
exit "$failed"
