# Sourced in the repository's folder by scripts that build all crates: Clippy is the compiler of ours (compiler.sh), so that each is
# linted while it is built.
#
# `cargo clippy` runs Clippy just so, but builds nothing: dependencies would be read once for it and built once more for the
# tests. Whatever is built with it must be run with it, or cargo builds our crates again.
export RUSTC_WORKSPACE_WRAPPER="$PWD/scripts/compiler.sh" CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
