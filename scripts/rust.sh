#!/usr/bin/env bash
# Sees that a Rust toolchain is there and new enough.
set -euo pipefail
cd "$(dirname "$0")/.."

needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
found=$(cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9.]*\).*/\1/p' || true)
if [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$needed" "$found" | sort -V | head -n 1)" = "$needed" ]; then
    exit 0
fi
{
    if [ -n "$found" ]; then
        echo "Stampede needs Rust $needed or newer; this is $found. Get it with:"
    else
        echo "Stampede needs Rust $needed or newer. Get it with:"
    fi
    echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
    echo "then open a new shell and run this again."
} >&2
exit 3
