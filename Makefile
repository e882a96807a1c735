# Everything a person or CI runs. `make` alone lists it.

# Cargo must not take this make's jobserver for its own: under `make -j` the file descriptors that
# MAKEFLAGS names are closed in recipes, and a nested cargo would wait on whatever is open there.
cargo := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cargo
# One cargo at a time: they would wait for one target folder anyway.
.NOTPARALLEL:

# clippy, tests and docs name the same packages, features and profile (dev), so that each dependency
# is checked once and compiled once. Tests run in dev, not in the release profile that `make demo`
# fills: release would save no checking, and lose overflow checks and debug assertions. Dependencies
# are optimised in dev too (root Cargo.toml), so that the engine compiles plugins fast. The guests
# are compiled once for all profiles.
all := --workspace --features belljar/foreign-guests --locked

.PHONY: help
help: ## List these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' $(MAKEFILE_LIST) | \
		while read -r name text; do printf '%-20s %s\n' "$$name" "$$text"; done

.PHONY: wasm-toolchain
wasm-toolchain: ## Make sure that guests can be compiled to WebAssembly
	@plugins/compile/wasm-toolchain

.PHONY: foreign-toolchains
foreign-toolchains: clients ## Build the JavaScript and Python test guests into target/foreign
	@tests/guests/foreign-toolchains

.PHONY: clients
clients: ## Install the MCP clients and judges of the tests into target/foreign/clients
	@tests/clients/setup

.PHONY: demo
demo: wasm-toolchain ## Build belljar and run its tools on this repository
	$(cargo) build --release --locked --package belljar
	@tests/demo

.PHONY: check
check: wasm-toolchain ## Check format and lints only
	$(cargo) fmt --all --check
	$(cargo) clippy $(all) --all-targets -- -D warnings

# Each frontend can be left out, and what is left must build without a warning. The last one is what
# `make bench` builds.
fewer := "" cli cli,http mcp
.PHONY: features
features: wasm-toolchain ## Check that host and program build with fewer features
	@for features in $(fewer); do \
		$(cargo) clippy --package belljar --locked --lib --bins --no-default-features \
			--features "$$features" -- -D warnings || exit 1; \
	done
	$(cargo) clippy --package belljar --locked --bench lanes --no-default-features \
		--features builtins,cli,mcp -- -D warnings

# `--examples` (there are none) has cargo resolve the docs' dependencies with those of tests, as
# clippy did; without it docs check wasmtime again for one feature that differs.
.PHONY: test
test: check features foreign-toolchains ## Run all that CI runs: format, lints, tests, docs, instructions
	$(cargo) test $(all)
	RUSTDOCFLAGS="-D warnings" $(cargo) doc $(all) --no-deps --lib --examples
	@tests/benches/instructions/run

.PHONY: conformance
conformance: wasm-toolchain clients ## Run the MCP conformance suite against belljar serve
	$(cargo) build $(all) --bin belljar
	@tests/clients/conformance/run

.PHONY: bench-extism
bench-extism: ## Fetch the peer that the benchmarks call, into target/extism
	@tests/benches/extism/setup

.PHONY: bench
bench: wasm-toolchain ## Measure against bare wasmtime and peers, and write docs/benchmarks.md
	@tests/benches/run

.PHONY: instructions
instructions: ## Count the instructions of a call, and compare with what is expected
	@tests/benches/instructions/run

.PHONY: instructions-baseline
instructions-baseline: ## Expect from now on what is counted now
	@tests/benches/instructions/run --write
