# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a minimal root of a Debian or Ubuntu suite, enters it and removes it. Sourced by fresh.sh and
# packages-test.sh, which set `suite`, `script` and `label`, define `skip WHY`, which exits, and read
# `failed`.
# shellcheck disable=SC2154,SC2034
#
# The root is a directory in a mount namespace of its own: it shares the kernel and the tasks of this
# machine, and the mounts in it go with the script.
# The mirror of Debian is $IRQPATH_DEBIAN_MIRROR, else that of this machine's package sources if it is
# a Debian, else debootstrap's; that of Ubuntu is $IRQPATH_UBUNTU_MIRROR, else Ubuntu's own. The keys
# that must have signed a suite are in lab/archive.

require_root_tools() {
  local tool
  [[ $EUID == 0 ]] || skip 'making a root needs root; run it with sudo'
  for tool in debootstrap unshare; do
    command -v "$tool" >/dev/null || skip "$tool is not installed; run scripts/setup.sh --with test"
  done
  unshare --mount true 2>/dev/null || skip 'this root may not make a mount namespace (a container?)'
}

# Ends whatever still runs in the root, and removes it. Tasks that end meanwhile are no failure.
# shellcheck disable=SC2317 # reached through the trap
remove_root() {
  local id where path left=100
  # Politely first: what makes a root in this root has one to remove, too.
  kill -TERM -- "-$child" 2>/dev/null || true
  while ((left-- > 0)) && kill -0 "$child" 2>/dev/null; do sleep 0.1; done
  kill -KILL -- "-$child" 2>/dev/null || true
  wait "$child" 2>/dev/null || true
  id=$(stat -c %d:%i "$root")
  while read -r where path; do
    if [[ $where == "$id" ]]; then kill -KILL "$(cut -d/ -f3 <<<"$path")" 2>/dev/null || true; fi
  done < <(stat -L -c '%d:%i %n' /proc/[0-9]*/root 2>/dev/null || true)
  # What was killed may take a moment to let go.
  rm -rf --one-file-system "$work" 2>/dev/null || { sleep 2; rm -rf --one-file-system "$work"; }
}

# in_namespace ARGUMENT...: starts the script again in a mount namespace, with these arguments, and
# exits as it did. There it returns at once and sets `root`. In a namespace of its own nothing stays
# mounted, however this ends.
in_namespace() {
  root=${IRQPATH_ROOT:-}
  if [[ -n $root ]]; then return; fi
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/irqpath-root.XXXXXX")
  root=$work/root
  mkdir -m 755 "$root" # which every user may enter
  IRQPATH_ROOT=$root setsid unshare --mount --propagation private "$script" "$@" &
  child=$!
  trap remove_root EXIT
  trap 'exit 130' INT TERM HUP
  local code=0
  wait "$child" || code=$?
  exit "$code"
}

# The mirror of Debian that this machine uses; nothing if it has none.
# shellcheck disable=SC2016 # apt-get expands it
mirror() {
  local suites='bookworm|trixie|forky|duke|sid|unstable|testing|stable|oldstable'
  if [[ -n ${IRQPATH_DEBIAN_MIRROR:-} ]]; then
    echo "$IRQPATH_DEBIAN_MIRROR"
  else
    apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' 2>/dev/null |
      sed -nE "s/^($suites) //p" | head -n 1
  fi
}

# make_root PACKAGE,...: the root of `suite` with these packages.
make_root() {
  local log=$root.log from keys=debian
  local options=(--variant=minbase "--include=$1") recipe=()
  if [[ $suite == noble ]]; then
    keys=ubuntu
    from=${IRQPATH_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
    options+=('--components=main,universe')
    # A debootstrap that is older than the suite has no name for it; all of Ubuntu are made as gutsy was.
    if [[ ! -e /usr/share/debootstrap/scripts/noble ]]; then recipe=(/usr/share/debootstrap/scripts/gutsy); fi
  else
    from=$(mirror || true)
  fi
  options+=(--keyring="$PWD/lab/archive/$keys-archive-keyring.gpg" --force-check-gpg)
  if ! debootstrap "${options[@]}" "$suite" "$root" ${from:+"$from"} "${recipe[@]}" >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    skip "debootstrap cannot make it: $(tail -n 1 "$log")"
  fi
  # Packages must not start services of this machine's kernel.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  # How this machine reaches the archive: proxies, and what it checks of a mirror.
  apt-config dump | grep -E '^Acquire::(https?|Check-|Retries)' >"$root/etc/apt/apt.conf.d/90host" || true
  mount --bind "$root" "$root" # so that its / is a mount point, as tests expect
  local part
  for part in proc sys dev; do mount --rbind "/$part" "$root/$part"; done
  mount -t tmpfs tmpfs "$root/run"
}

# in_root DIRECTORY SETTING... COMMAND...: there, with nothing of this environment except these
# settings (NAME=value). Its / is that of a mount namespace, for a process in a chroot may not make a
# user namespace.
in_root() {
  local directory=$1
  shift
  # shellcheck disable=SC2016 # expanded there
  (cd "$root" && unshare --mount sh -c 'pivot_root . mnt && cd / && exec "$@"' sh \
    env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DIRECTORY="$directory" sh -c 'umount -l /mnt && cd "$DIRECTORY" && unset DIRECTORY && exec env "$@"' sh "$@")
}

failed=0
# step NAME COMMAND...: a line of output for it, and `failed` if it fails. A function fails with the
# first of its commands that does: it runs in a shell of its own, outside of any condition.
step() {
  local name=$1 started=$SECONDS code
  shift
  set +e
  (set -e; "$@")
  code=$?
  set -e
  if [[ $code == 0 ]]; then
    echo "$label $suite: ok      $name ($((SECONDS - started)) s)"
  else
    echo "$label $suite: FAILED  $name ($((SECONDS - started)) s)"
    failed=1
  fi
}
