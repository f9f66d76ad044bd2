#!/usr/bin/env bash
# In the compiler's place for our crates (lint.sh): Clippy, which compiles what it lints.
#
# Not for sh: dash drops variables whose names it could not have itself, such as CARGO_BIN_EXE_stampede-bench.
case " $* " in
*' --test '*)
    # Cargo optimises a package with its tests or not at all. What drives load must be quick; what asserts about it need not be, and is
    # compiled in a fraction of the time without. Of forecasts, unit tests alone: the other tests simulate long ones.
    case "${CARGO_PKG_NAME:-} $*" in
    'stampede-core '* | 'stampede-harness '* | 'stampede-load '* | 'stampede-scenario '* | 'stampede-wire '* | 'stampede-lua '* | \
        'stampede-stats '* | 'stampede-scale '* | *' --crate-name stampede_forecast '*)
        for word in "$@"; do
            shift
            [ "$word" != opt-level=2 ] || word=opt-level=0
            set -- "$@" "$word"
        done ;;
    esac ;;
*' --crate-type lib '*)
    # A library is compiled once more with its unit tests, which is all of it and more: there Clippy looks at it, and here the compiler
    # alone.
    exec "$@" -D warnings ;;
esac
exec clippy-driver "$@"
