#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds docs/ and the pages beside it as a site in target/book/site, which works offline. Takes
# mdbook from PATH, else installs the pinned version below target/tools, for which alone it needs
# the network. IRQPATH_SOURCE_URL is where links to code lead; unless set, to this checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=0.5.1
mdbook=mdbook
if ! command -v mdbook >/dev/null; then
  mdbook=target/tools/bin/mdbook
  if [[ ! -x $mdbook ]]; then
    cargo install --locked mdbook --version "$version" --root target/tools \
      --no-default-features --features search
  fi
fi

cargo xtask links
cargo xtask book
"$mdbook" build target/book
echo "open target/book/site/index.html"
