#!/usr/bin/env bash
# Fuzzes parsers with the stable compiler.
#
#   scripts/fuzz.sh [SECONDS] [TARGET]...      three minutes of each file in fuzz/fuzz_targets by default
#
# Inputs that were found are kept in target/fuzz/corpus and are where the next run begins. There is no sanitizer: what is fuzzed has
# no unsafe code.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

seconds=${1:-180}
shift || true
if [ $# -eq 0 ]; then
    for file in fuzz_targets/*.rs; do set -- "$@" "$(basename "$file" .rs)"; done
fi
folder=$(cd .. && pwd)/target/fuzz
triple=$(rustc -vV | sed -n 's/^host: //p')
# What cargo-fuzz passes, but for its sanitizer.
flags=(--cfg fuzzing -Cdebug-assertions -Ccodegen-units=1 -Cpasses=sancov-module)
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=("-Cllvm-args=-sanitizer-coverage-$option")
done
# Naming the target keeps the flags from build scripts.
CARGO_TARGET_DIR=$folder RUSTFLAGS="${flags[*]}" cargo build --release --target "$triple" "${@/#/--bin=}"
for target in "$@"; do
    echo "$target"
    mkdir -p "$folder/corpus/$target"
    (cd "$folder" && "$triple/release/$target" "corpus/$target" -max_total_time="$seconds" -print_final_stats=1)
done
