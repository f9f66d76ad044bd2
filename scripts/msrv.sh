#!/usr/bin/env bash
# Compiles all crates with the oldest Rust that Cargo.toml names, where rustup has it.
set -euo pipefail
cd "$(dirname "$0")/.."

oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
toolchain=$(rustup toolchain list 2>/dev/null | grep --only-matching "^${oldest//./\\.}[^ ]*" | head -n 1 || true)
if [ -z "$toolchain" ]; then
    echo "SKIP msrv: needs Rust $oldest (rustup toolchain install --profile minimal $oldest)" >&2
    exit 0
fi
exec cargo "+$toolchain" check --locked --workspace --target-dir target/msrv
