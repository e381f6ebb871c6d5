# Shortcuts for everyday commands; `just` lists them.

_default:
    @just --list

# Run everything that CI runs.
ci:
    .ci/run

# Run all tests.
test:
    cargo test --workspace

# Format everything, then lint.
lint:
    cargo fmt --all
    cargo fmt --manifest-path fuzz/Cargo.toml
    cargo fmt --manifest-path crates/inferno-tokenizer/bench/Cargo.toml
    cargo fmt --manifest-path benchmarks/simulation/Cargo.toml
    cargo fmt --manifest-path python/Cargo.toml
    cargo clippy --workspace --all-targets -- -D warnings

# Open the documentation of every crate.
doc:
    cargo doc --workspace --no-deps --open

# Generate a story with the built-in model, or the one in INFERNO_MODEL.
story prompt="Once upon a time":
    cargo run --release -- generate "{{ prompt }}"

# Benchmark the built-in model, or the one in INFERNO_MODEL; requires an idle machine.
speed *flags:
    cargo run --release -- bench {{ flags }}

# Benchmark the kernels, block formats, sampler, scheduler and tokenizer; requires an idle machine.
bench:
    cargo bench -p inferno-cpu -p inferno-tensor -p inferno-engine
    cargo bench --manifest-path crates/inferno-tokenizer/bench/Cargo.toml

# Fuzz one parser: gguf, quant, template or tokenizer.
fuzz target="gguf" seconds="60":
    cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run {{ target }} -- -max_total_time={{ seconds }}

# Test inferno-cpu and inferno-gguf under AddressSanitizer.
sanitize:
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test --target x86_64-unknown-linux-gnu -p inferno-cpu -p inferno-gguf --lib --tests

# Check licenses, sources and known vulnerabilities of all dependencies.
audit:
    .ci/deny
