#!/usr/bin/env bash
# Everything that CI runs, cheapest first; at its end the seconds of each part and the slowest tests. See docs/testing.md.
set -euo pipefail
cd "$(dirname "$0")/.."

# Clippy in the compiler's place lints each crate of ours while it builds it (scripts/lint.sh).
# shellcheck source=scripts/lint.sh
. scripts/lint.sh

scratch=$(mktemp -d)
background=()
# What runs in the background, in process groups of its own, ends with this.
trap 'for pid in "${background[@]}"; do kill -- "-$pid" 2>/dev/null || true; done; rm -rf "$scratch"' EXIT
rm -rf target/nextest/{beside,studies,alone} target/cargo-test

parts=()

# part NAME COMMAND...: runs it and notes its seconds
part() {
    local name=$1 begun=$SECONDS
    shift
    "$@" || { echo "make check: $name failed" >&2; exit 1; }
    parts+=("$(printf '%9d  %s' "$((SECONDS - begun))" "$name")")
}

# beside NAME COMMAND...: the same in the background; its output is kept until `joined NAME`
beside() {
    local name=$1
    shift
    set -m
    { SECONDS=0; code=0; "$@" || code=$?; echo "$code $SECONDS" >"$scratch/$name.end"; } >"$scratch/$name.log" 2>&1 </dev/null &
    set +m
    background+=("$!")
}
joined() {
    local name=$1 code seconds
    until [ -f "$scratch/$name.end" ]; do wait -n; done
    cat "$scratch/$name.log"
    read -r code seconds <"$scratch/$name.end"
    [ "$code" -eq 0 ] || { echo "make check: $name failed" >&2; exit 1; }
    parts+=("$(printf '%9d  %s, beside those' "$seconds" "$name")")
}

# Only its archive is kept: what it says is said again by the test that needs it, where it could not be made.
if command -v debootstrap >/dev/null && command -v dockerd >/dev/null && [ "$(id -u)" -eq 0 ]; then
    beside 'base image of the containers' scripts/base_image.sh
fi
part format cargo fmt --all --check
part 'lint and build' scripts/tests.sh build
scripts/nextest.sh wait || true
# One after the other: tests that measure are not among those, and what waits for servers then has the processors.
beside 'php and web' sh -c 'scripts/php.sh test && scripts/web.sh test'
part tidy cargo run --quiet --locked --bin xtask -- tidy
part site cargo run --quiet --locked --bin xtask -- site target/debug/stampede
part 'tests that others may run beside' scripts/tests.sh beside
joined 'php and web'
part 'tests that wait for servers and containers' scripts/tests.sh studies
part 'tests that measure' scripts/tests.sh alone

scripts/slowest.sh
echo "Seconds:"
printf '%s\n' "${parts[@]}"
printf '%9d  all\n' "$SECONDS"
