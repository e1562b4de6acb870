# SPDX-License-Identifier: GPL-2.0-or-later
# The way in for people; cargo builds, scripts/ does the rest. `make` alone explains.

CARGO   ?= cargo
# Exactly the versions in Cargo.lock, here and in scripts/.
LOCKED  := --locked
PREFIX  ?= /usr/local
TARGET  := $(or $(CARGO_TARGET_DIR),target)
# What `make demo` runs: IRQPATH_PROFILE=dev compiles faster. Cargo calls dev's directory debug.
PROFILE := $(or $(IRQPATH_PROFILE),release)
BUILT   := $(TARGET)/$(patsubst dev,debug,$(PROFILE))
BIN     := $(TARGET)/release/irqpath
# Writes the pages and completions; another than BIN if that is for another machine.
WRITER  := $(BIN)
MAN     := $(TARGET)/man
COMPL   := $(TARGET)/completions
SHARE   := $(DESTDIR)$(PREFIX)/share
# What `irqpath lab` reads: in a checkout from there, installed from share/irqpath.
LAB_DIRS := $(wildcard lab experiments kernel)

.PHONY: help setup build demo test test-fast coverage fuzz bench fmt lint check-house docs man completions install packages packages-test fleet-test clean

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## install what building needs and this machine lacks
	@scripts/setup.sh

build: setup ## build the release binary
	@$(CARGO) build $(LOCKED) --release -p irqpath
	@stat -c '%n: %s bytes' $(BIN)

demo: ## trace this machine, or replay a recording; then guests, for which a kernel is built once
	@scripts/setup.sh
	@$(CARGO) build $(LOCKED) --profile $(PROFILE) -p irqpath --bin irqpath --example demo_load
	@IRQPATH_BUILT=$(BUILT) scripts/demo.sh

test: ## every check and test, for which a kernel is built once; what cannot run here says why
	@scripts/test.sh

test-fast: ## the checks, the unit tests and the golden outputs: a minute once they are compiled
	@scripts/test.sh --fast

coverage: ## print how much of the code the tests run, without those in guests; pages in target/llvm-cov
	@scripts/coverage.sh

fuzz: ## feed damaged files to every reader, an hour each; IRQPATH_FUZZ_SECONDS=N for another time
	@scripts/setup.sh --with test
	@scripts/fuzz.sh

bench: build ## compare speed with perf and bpftrace
	@scripts/setup.sh --with test
	@scripts/bench.sh

fmt: ## format the Rust code
	@$(CARGO) fmt --all

lint: ## clippy, warnings are errors
	@$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings

check-house: ## the rules that a compiler does not know
	@$(CARGO) xtask check

docs: ## the pages as a site, in target/book/site
	@scripts/docs.sh

man: build ## write the man pages
	@mkdir -p $(MAN)
	@$(WRITER) generate man $(MAN)

completions: build ## write the shell completions
	@mkdir -p $(COMPL)
	@$(WRITER) generate completions $(COMPL)

install: man completions ## install to PREFIX, below DESTDIR
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/irqpath
	install -d $(SHARE)/man/man1
	install -m 644 $(MAN)/*.1 $(SHARE)/man/man1/
	install -D -m 644 $(COMPL)/irqpath.bash $(SHARE)/bash-completion/completions/irqpath
	install -D -m 644 $(COMPL)/_irqpath $(SHARE)/zsh/site-functions/_irqpath
	install -D -m 644 $(COMPL)/irqpath.fish $(SHARE)/fish/vendor_completions.d/irqpath.fish
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	for unit in systemd/*.service systemd/*.socket; do \
	  sed 's|@BINDIR@|$(PREFIX)/bin|' $$unit > $(DESTDIR)$(PREFIX)/lib/systemd/system/$${unit##*/}; done
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system-sleep
	sed 's|@BINDIR@|$(PREFIX)/bin|' systemd/irqpath.sleep \
	  > $(DESTDIR)$(PREFIX)/lib/systemd/system-sleep/irqpath
	chmod 755 $(DESTDIR)$(PREFIX)/lib/systemd/system-sleep/irqpath
	install -d $(SHARE)/irqpath
	find $(LAB_DIRS) -type f ! -name '.*' -exec cp --parents -t $(SHARE)/irqpath {} +

packages: ## make deb, rpm, static binary and container image of HEAD, in target/packages
	@scripts/setup.sh --with packages
	@scripts/packages.sh

packages-test: ## install, use, upgrade and purge them on Debian 12 and 13; needs root
	@scripts/packages-test.sh

fleet-test: ## try the Helm chart, the agent's container, the alerts and the Ansible role; needs root
	@scripts/setup.sh --with fleet
	@scripts/fleet-test.sh
	@scripts/ansible-test.sh

clean: ## remove everything that was built, and the demo's result
	@$(CARGO) clean
	@rm -rf demo-result
