# `make test` is the definition of done; `.ci/run` calls it. Everything runs in one profile (dev, lightly optimised).
.PHONY: test test-real test-long fuzz fuzz-corpus built check prepare fmt formatted lint unit bench deny dist package image book

# The suites of crates. Targets are chosen by name, so none has the name of one in tests/ (tests/architecture.rs).
CRATE_SUITES = $(sort $(basename $(notdir $(wildcard crates/*/*/tests/*.rs))))

# A build server has nothing built: there clippy's driver compiles the tests, so that nothing is compiled a second time for lints. Elsewhere
# `make test` uses what `cargo test` has built.
ifdef CI
export RUSTC_WORKSPACE_WRAPPER = clippy-driver
export CLIPPY_ARGS = -Dwarnings
LINTED = formatted
WHAT_LINTS_SEE = --all-targets
else
LINTED = lint
endif

# Where tools have to be built first, linting and building go on beside that: neither keeps all processors busy.
test:
	@$(MAKE) --no-print-directory -j2 prepare built
	@$(MAKE) --no-print-directory unit

built: $(LINTED)
	@cargo test --locked --features bumpwright/jemalloc --no-run --quiet $(WHAT_LINTS_SEE)

# Before each commit: formatting, lints, and all tests that need no server: those of the crates, the unit tests of src/, the shape of the
# source and what documents cite. With everything built the tests take half a minute on two processors; after a change, what depends on
# it is built first. `make test` has the rest.
check: lint
	@bash tests/tools/cargo-test --workspace --lib $(addprefix --test ,architecture citations $(CRATE_SUITES))

# The real parts that tests talk to: git, sshd, gpg, openssl; the registry, built once from Go modules.
prepare:
	@sh tests/tools/prepare

# Tests against servers that take minutes to build, each once: docs/tested-against.md says which.
test-real: prepare
	@sh tests/tools/prepare-real
	@bash tests/tools/cargo-test --test real

# Long runs: all fuzz targets, models of threads, each reader of foreign bytes alone at its largest answers, and a fleet under ten minutes of
# faults (benches/README.md).
test-long: prepare fuzz
	@fuzz/run models
	cargo test --locked --features bumpwright/jemalloc --quiet --test attacks meter -- --ignored --nocapture
	@cargo build --locked --features bumpwright/jemalloc --quiet --bin bumpwright
	python3 -B benches/chaos.py --seed 1 --seconds 600

# All fuzz targets, two at a time: fuzz/README.md. SECONDS=600 runs each for ten minutes.
fuzz:
	@fuzz/run all $(or $(SECONDS),30)

# Makes the stored inputs of the targets again.
fuzz-corpus:
	@fuzz/run corpus

# Rewrites the source as rustfmt has it.
fmt:
	cargo fmt

formatted:
	cargo fmt --check

lint: formatted
	cargo clippy --locked --features bumpwright/jemalloc --all-targets -- -D warnings
	cargo clippy --locked --features bumpwright/jemalloc --test real -- -D warnings

# All tests, the architecture among them. The full output goes to target/test-output.log.
unit:
	@bash tests/tools/cargo-test

# Prints Markdown tables; takes three quarters of an hour. BENCH=--quick measures the smallest fleet, the smaller builds, sources,
# Kustomizations and encrypted Secrets only. Messages, policies and the scan need go; the scan, builds and controllers need what `make prepare` builds.
bench:
	cargo build --locked --profile dist --features jemalloc --package bumpwright --package bumpwright-testkit --bins --benches
	python3 -B benches/update.py $(BENCH)
	python3 -B benches/message.py
	python3 -B benches/policy.py
	python3 -B benches/registry.py
	python3 -B benches/reverts.py $(BENCH)
	python3 -B benches/build.py $(BENCH)
	python3 -B benches/fleet_view.py $(BENCH)
	python3 -B benches/fleet_releases.py
	python3 -B benches/helm.py
	python3 -B benches/sources.py $(BENCH)
	python3 -B benches/apply.py $(BENCH)
	python3 -B benches/sops.py $(BENCH)
	python3 -B benches/beside.py $(BENCH)

deny:
	@if command -v cargo-deny >/dev/null; then cargo deny --locked check; \
	else echo "deny: cargo-deny is not installed (cargo install --locked cargo-deny)"; exit 1; fi

# The container image as an OCI layout in target/image, with the Debian packages of today: docs/packaging-image.md. BINARY=FILE takes a
# binary that is there; otherwise the one that ships is built first.
image:
	@sh packaging/image/packages target/image/packages
	@binary="$(BINARY)"; [ -n "$$binary" ] || binary=$$(packaging/build) || exit 1; \
	sh packaging/image/build "$$binary" target/image/packages target/image/layout

# The artifacts of a release in target/package, without the Debian package. BINARY packages a binary that is already built, as it is; else
# PROFILE (default: dist, which takes a quarter of an hour) and TARGET say how it is built. docs/packaging.md
dist:
	@packaging/dist

# All artifacts, tested.
package: dist
	@packaging/deb
	@packaging/test

# The book of docs/ in target/book, whose links are checked; mdBook is built into the tools folder, once.
MDBOOK = 0.5.4
TOOLS = $(or $(BUMPWRIGHT_TOOLS),$(HOME)/.cache/bumpwright/bin)
book: $(TOOLS)/mdbook-$(MDBOOK)/bin/mdbook
	$< build docs
	@cargo test --locked --quiet --test cli links_of_the_book -- --ignored

$(TOOLS)/mdbook-%/bin/mdbook:
	cargo install --locked --quiet --no-default-features --features search --root $(TOOLS)/mdbook-$* mdbook@$*
