#!/usr/bin/env bash
# Makes what a release consists of: dist.sh [x86_64|aarch64]...      this machine's architecture by default
#
# Writes into target/packages, of each architecture, the program with its manual pages, completions and licences as .tar.gz and as .deb; and
# the licences, an SBOM (CycloneDX), the script that installs it, and SHA256SUMS. Puts the program where the Dockerfile takes it from.
# RELEASES is the address that the files will be at, for the script. docs/releases.md has more.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- "$(uname -m)"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
target=${CARGO_TARGET_DIR:-target}
out=$target/packages
# To look at files shall not write Git's index, whose time has the program linked again.
export GIT_OPTIONAL_LOCKS=0
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "warning: files differ from the commit: this is no release" >&2

scripts/static.sh "$@"
rm -rf "$out"
mkdir -p "$out"
for architecture in "$@"; do
    triple=$architecture-unknown-linux-${LIBC:-gnu}
    cargo run --quiet --locked --bin xtask -- licences "$triple" >"$out/licences-$architecture.txt"
    cargo run --quiet --locked --bin xtask -- sbom "$triple" >"$out/stampede-$version-$architecture.cdx.json"
    runs=$target/static/$(uname -m)/stampede
    [ -x "$runs" ] || runs=$target/static/$architecture/stampede
    RUN=$runs scripts/package.sh "$target/static/$architecture/stampede" "$architecture" "$out/licences-$architecture.txt" "$out"
done
sed "s|\${STAMPEDE_RELEASES:-}|\${STAMPEDE_RELEASES:-${RELEASES:-}}|" scripts/install.sh >"$out/install.sh"
(cd "$out" && sha256sum -- *.tar.gz *.deb *.txt *.json install.sh >SHA256SUMS)
if [ -f "$target/static/$(uname -m)/stampede" ]; then
    install -D -m 755 "$target/static/$(uname -m)/stampede" target/image/stampede
fi

if command -v lintian >/dev/null; then
    lintian --fail-on error,warning "$out"/*.deb
else
    echo "SKIP lintian: not installed (Debian: lintian)" >&2
fi
(cd "$out" && wc -c -- *)
