#!/usr/bin/env bash
# Runs the Rust tests: tests.sh build|all|beside|studies|alone
#
# beside: those that others may run beside; studies: those that wait for servers and containers; alone: those that check what they
# measure (.config/nextest.toml). Without cargo-nextest, which knows them apart, the first are the unit tests and the last all
# others. See docs/testing.md.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:?build, all, beside, studies or alone}
# No documentation has examples that are code: to look for some would read every crate once more.
what=(--locked --lib --bins --tests)
waiting='group(studies) | group(containers) | group(drain)'
measuring='group(measuring) | group(paced) | group(figures)'

if [ "$purpose" = build ]; then
    # Benchmarks, too, which are linted so, and not run.
    exec cargo test --locked --all-targets --no-run --quiet
elif cargo nextest --version >/dev/null 2>&1; then
    case $purpose in
        all) exec cargo nextest run "${what[@]}" ;;
        beside) exec cargo nextest run "${what[@]}" --profile beside --filterset "not ($waiting | $measuring)" ;;
        studies) exec cargo nextest run "${what[@]}" --profile studies --filterset "$waiting" ;;
        alone) exec cargo nextest run "${what[@]}" --profile alone --filterset "$measuring" ;;
    esac
else
    mkdir -p target/cargo-test
    case $purpose in
        all) cargo test "${what[@]}" ;;
        beside) cargo test --locked --lib --bins ;;
        studies) ;;
        alone) cargo test --locked --test '*' ;;
    esac 2>&1 | tee "target/cargo-test/$purpose"
fi
