#!/usr/bin/env bash
# Gets cargo-nextest, which runs the tests: nextest.sh start|wait
#
# start: builds it in the background, at the lowest priority, unless it is there. wait: waits until that is done, and says
# how long it took. Where it cannot be built, `cargo test` runs the tests.
set -euo pipefail
cd "$(dirname "$0")/.."

# Needs Rust 1.91; an older one leaves `cargo test`. What is needed at least is in .config/nextest.toml.
version=0.9.151
state=$PWD/target/nextest-install

is_there() { cargo nextest --version >/dev/null 2>&1; }

build() {
    # Not optimised: it only starts tests and waits for them, and is built in half the time.
    env -u RUSTC_WORKSPACE_WRAPPER CARGO_TARGET_DIR="$state/target" CARGO_PROFILE_DEV_DEBUG=0 nice -n 19 \
        cargo install --locked --debug --no-default-features --version "$version" cargo-nextest &&
        echo "$SECONDS" >"$state/seconds"
    rm -rf "$state/target"
}

case ${1:?start or wait} in
    start)
        if is_there || ! command -v cargo >/dev/null || ! command -v cc >/dev/null; then exit 0; fi
        mkdir -p "$state"
        {
            flock -n 9 || exit 0
            SECONDS=0
            build
        } 9>"$state/lock" >"$state/log" 2>&1 </dev/null & ;;
    wait)
        [ ! -f "$state/lock" ] || flock "$state/lock" true
        if ! is_there; then
            echo "cargo-nextest is not there (make test builds it); cargo test runs the tests" >&2
            [ ! -f "$state/log" ] || tail -n 3 "$state/log" >&2
            exit 1
        fi
        if [ -f "$state/seconds" ]; then
            echo "cargo-nextest was built in the background in $(cat "$state/seconds") s; waited $SECONDS s for it here"
            rm "$state/seconds"
        fi ;;
esac
