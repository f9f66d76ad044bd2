#!/usr/bin/env bash
# Builds Stampede as one static file for this machine's architecture, or for aarch64 with the distribution's cross compiler, and
# tries it: size, start time, a folder with nothing else in it, names that resolve.
#
#   scripts/static.sh            x86_64 or whatever this machine is
#   scripts/static.sh aarch64    needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user, and the target's standard library
set -euo pipefail
cd "$(dirname "$0")/.."

architecture=${1:-$(uname -m)}
target=$architecture-unknown-linux-gnu
most=$((30 * 1000 * 1000))
run=()
strip=strip
if [ "$architecture" != "$(uname -m)" ]; then
    missing=()
    for program in "$architecture-linux-gnu-gcc" "qemu-$architecture"; do
        command -v "$program" >/dev/null || missing+=("$program")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        echo "SKIP: needs ${missing[*]} (gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user)" >&2
        exit 3
    fi
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
        echo "SKIP: needs the standard library of $target (rustup target add $target)" >&2
        exit 3
    fi
    variable=$(echo "$target" | tr 'a-z-' 'A-Z_')
    export "CARGO_TARGET_${variable}_LINKER=$architecture-linux-gnu-gcc" "CC_${target//-/_}=$architecture-linux-gnu-gcc"
    run=("qemu-$architecture")
    strip=$architecture-linux-gnu-strip
fi

# A target of its own: with `--target`, build scripts and macros stay dynamic.
RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --package stampede --target "$target"
built=${CARGO_TARGET_DIR:-target}/$target/release/stampede
folder=target/static/$architecture
mkdir -p "$folder"
objcopy=${strip%strip}objcopy
"$objcopy" --only-keep-debug "$built" "$folder/stampede.debug"
"$strip" -o "$folder/stampede" "$built"
"$objcopy" --add-gnu-debuglink="$folder/stampede.debug" "$folder/stampede"

size=$(stat -c %s "$folder/stampede")
echo "size: $size bytes"
[ "$size" -le "$most" ] || { echo "more than $most bytes" >&2; exit 1; }
if readelf -d "$folder/stampede" | grep NEEDED; then
    echo "it needs shared libraries" >&2
    exit 1
fi

"${run[@]}" "$folder/stampede" --version
best=1000000
for _ in 1 2 3 4 5 6 7 8 9 10; do
    begin=$(date +%s%N)
    "${run[@]}" "$folder/stampede" --version >/dev/null
    took=$((($(date +%s%N) - begin) / 1000))
    [ "$took" -lt "$best" ] && best=$took
done
echo "start: $best us at best of 10 (--version, with the shell's fork)"

# Names of the machine resolve. The C library loads what resolves them, where it is the same one; without it a name is an error and
# an address still works.
"${run[@]}" "$folder/stampede" load http://localhost:9/ -n 1 --quiet >/dev/null 2>"$folder/said" || true
grep -q "cannot find the address" "$folder/said" && echo "names: localhost is not found" || echo "names: localhost is found"

if [ ${#run[@]} -eq 0 ] && [ "$(id -u)" -eq 0 ]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    cp "$folder/stampede" "$scratch/"
    chroot "$scratch" /stampede --version
    chroot "$scratch" /stampede load http://127.0.0.1:9/ -n 1 --backend epoll 2>&1 | grep -q "Connection refused\|refused\|failed" && echo "scratch: it sends requests"
    chroot "$scratch" /stampede load http://localhost:9/ -n 1 --backend epoll 2>"$scratch/said" >/dev/null || true
    grep -q "cannot find the address" "$scratch/said" && echo "scratch: localhost is not found (no /etc/hosts)" || echo "scratch: localhost is found"
fi
