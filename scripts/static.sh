#!/usr/bin/env bash
# Builds Stampede as one file that needs no library of the machine that it runs on.
#
#   scripts/static.sh [x86_64|aarch64]...      this machine's architecture by default
#
# Writes target/static/ARCHITECTURE/stampede, and its debug information beside it in stampede.debug. LIBC=musl takes musl in place of
# glibc. CARGO and RUSTC name other programs, CARGO_TARGET_DIR another folder than target. docs/static-program.md has more.
#
# Two builds of one commit with the same toolchain shall be equal byte for byte, wherever the folder, Cargo's home and the target are
# (docs/releases.md).
set -euo pipefail
cd "$(dirname "$0")/.."

most_bytes=30000000
libc=${LIBC:-gnu}
target=${CARGO_TARGET_DIR:-target}

# Where things lie here is in debug information, in panics and in what is written in C; a later name of these comes before an earlier.
home=$(readlink -f "${CARGO_HOME:-$HOME/.cargo}")
here=$(pwd -P)
places=("$home=/cargo" "$here=/stampede")
mkdir -p "$target"
built_in=$(readlink -f "$target")
[ "$built_in" = "$here/target" ] || places+=("$built_in=/stampede/target")
remap=${places[*]/#/--remap-path-prefix=}
prefix_map=${places[*]/#/-ffile-prefix-map=}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
# What this machine's builds are set to otherwise.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CFLAGS
export CARGO_INCREMENTAL=0

build() { # architecture
    local triple=$1-unknown-linux-$libc prefix='' built out
    if [ "$1" != "$(uname -m)" ]; then prefix=$1-linux-gnu-; fi
    for tool in "${prefix}gcc" "${prefix}objcopy" "${prefix}readelf"; do
        if ! command -v "$tool" >/dev/null; then
            echo "$1 needs $tool; install gcc-$1-linux-gnu (Debian) or another cross compiler" >&2
            exit 3
        fi
    done
    if [ ! -d "$("${RUSTC:-rustc}" --print target-libdir --target "$triple")" ]; then
        echo "$triple needs its standard library; install it: rustup target add $triple, or as in docs/static-program.md" >&2
        exit 3
    fi
    local name=${triple//-/_} flags="-C target-feature=+crt-static $remap"
    # Relocations take a thirtieth of the room: the GNU linker from 2.38 on, and a C library whose static start reads them (glibc 2.36).
    if [ "$libc" = gnu ]; then flags+=' -C link-arg=-Wl,-z,pack-relative-relocs'; fi
    # For x86-64, Rust links by the linker that it brings, unless another is named; there functions that are alike become one.
    local own_linker
    own_linker=$("${RUSTC:-rustc}" --print sysroot)/lib/rustlib/$triple/bin/gcc-ld/ld.lld
    if [ "$1-$libc-$(uname -m)" = x86_64-gnu-x86_64 ] && [ -x "$own_linker" ]; then
        flags+=' -C link-arg=-Wl,--icf=all'
    else
        local -x "CARGO_TARGET_${name^^}_LINKER=${prefix}gcc"
    fi
    local -x "CARGO_TARGET_${name^^}_RUSTFLAGS=$flags"
    # What is written in C: SQLite, LuaJIT, and the cryptography of ring.
    if [ "$libc" = musl ]; then
        local -x "CC_$name=$1-linux-musl-gcc" "CARGO_TARGET_${name^^}_LINKER=$1-linux-musl-gcc"
    else
        local -x "CC_$name=${prefix}gcc" "AR_$name=${prefix}ar"
    fi
    local -x "CFLAGS_$name=$prefix_map"
    "${CARGO:-cargo}" build --profile dist --locked --package stampede --bin stampede --target "$triple"

    built=$target/$triple/dist/stampede
    out=$target/static/$1
    mkdir -p "$out"
    "${prefix}objcopy" --only-keep-debug "$built" "$out/stampede.debug"
    "${prefix}objcopy" --strip-all "$built" "$out/stampede"
    (cd "$out" && "${prefix}objcopy" --add-gnu-debuglink=stampede.debug stampede)
    # Neither an interpreter nor a library.
    if "${prefix}readelf" --program-headers --dynamic "$out/stampede" | grep -E 'INTERP|NEEDED' >&2; then
        echo "$out/stampede needs libraries of the machine" >&2
        exit 1
    fi
    # A start that cannot read what the linker wrote ends here.
    if [ "$1" = "$(uname -m)" ]; then "$out/stampede" --version; fi
    local bytes
    bytes=$(wc -c <"$out/stampede")
    echo "$out/stampede: $bytes bytes"
    if [ "$bytes" -gt "$most_bytes" ]; then
        echo "that is more than $most_bytes" >&2
        exit 1
    fi
}

[ $# -gt 0 ] || set -- "$(uname -m)"
for architecture in "$@"; do build "$architecture"; done
