#!/bin/sh
# Installs Stampede from a release, or removes it again. It never asks for root: run as root it installs for everybody.
#
#   sh install.sh [--from ADDRESS] [--to FOLDER]     ADDRESS: where the files of a release are, or a folder with them
#   sh install.sh --remove [--to FOLDER]             what was installed
#   sh install.sh --purge [--to FOLDER]              that, and your studies and caches
#
# It needs tar, gzip, sha256sum and one of curl, wget and apt. It changes FOLDER alone: /usr/local for root, else ~/.local.
set -eu

main() {
    from=${STAMPEDE_RELEASES:-}
    to=$HOME/.local
    [ "$(id -u)" -ne 0 ] || to=/usr/local
    task=install
    while [ $# -gt 0 ]; do
        case $1 in
            --from) from=${2:?--from needs an address}; shift 2 ;;
            --to) to=${2:?--to needs a folder}; shift 2 ;;
            --remove | --purge) task=${1#--}; shift ;;
            *) fail "unknown: $1; the first lines of this script have what it knows" ;;
        esac
    done
    list=$to/share/doc/stampede/installed
    case $task in
        install) install ;;
        remove) remove; echo "Your studies are kept; --purge removes them too." ;;
        purge) remove; purge ;;
    esac
}

fail() { echo "stampede: $1" >&2; exit 1; }

install() {
    [ -n "$from" ] || fail "no address of a release; give --from ADDRESS"
    case $(uname -s)-$(uname -m) in
        Linux-x86_64) machine=x86_64 ;;
        Linux-aarch64 | Linux-arm64) machine=aarch64 ;;
        *) fail "there is no program for $(uname -s) on $(uname -m); build it from source" ;;
    esac
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    get SHA256SUMS
    archive=$(sed -n "s/^[0-9a-f]*  \(stampede-[0-9a-z.]*-$machine\.tar\.gz\)$/\1/p" "$scratch/SHA256SUMS")
    [ -n "$archive" ] || fail "$from has no program for $machine; build it from source"
    get "$archive"
    (cd "$scratch" && grep "  $archive\$" SHA256SUMS | sha256sum -c --quiet - >/dev/null 2>&1) ||
        fail "$archive is not what SHA256SUMS says: the download was cut short or altered; nothing was installed"
    tar -xzf "$scratch/$archive" -C "$scratch"
    tree=$scratch/${archive%.tar.gz}
    "$tree/bin/stampede" --version >/dev/null || fail "the program does not run here; nothing was installed"
    [ ! -f "$list" ] || remove >/dev/null
    made=$(cd "$tree" && find . -type d | while read -r folder; do [ -d "$to/$folder" ] || echo "$folder/"; done | sort -r)
    mkdir -p "$to"
    cp -R "$tree/." "$to/"
    { (cd "$tree" && find . -type f); echo ./share/doc/stampede/installed; echo "$made"; } >"$list"
    echo "Installed $("$to/bin/stampede" --version) in $to; remove it with: sh install.sh --remove --to $to"
    case :$PATH: in *:"$to"/bin:*) ;; *) echo "Add it to your search path: export PATH=\"$to/bin:\$PATH\"" ;; esac
    echo "Next, in your application's folder: stampede"
}

get() { # file
    where=$from/$1
    if [ -d "$from" ]; then
        cp "$where" "$scratch/$1" || fail "cannot read $where"
    elif command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$scratch/$1" "$where" || fail "cannot get $where"
    elif command -v wget >/dev/null; then
        wget --quiet --output-document "$scratch/$1" "$where" || fail "cannot get $where"
    elif [ -x /usr/lib/apt/apt-helper ]; then
        /usr/lib/apt/apt-helper download-file "$where" "$scratch/$1" >/dev/null 2>&1 || fail "cannot get $where"
    else
        fail "curl or wget is needed"
    fi
}

# Each file that was installed, and the folders that were made for them.
remove() {
    [ -f "$list" ] || fail "nothing is installed in $to"
    while read -r path; do
        case $path in
            */) rmdir "$to/$path" 2>/dev/null || true ;;
            *) rm -f "$to/$path" ;;
        esac
    done <"$list"
    echo "Removed Stampede from $to."
}

# What the program kept, and the folders for it where nothing else is in them; not while anybody measures.
purge() {
    lock=/run/lock/stampede.lock
    if [ -w "$lock" ]; then
        flock --nonblock "$lock" rm -f "$lock" || fail "a Stampede is measuring on this machine; your studies and caches are kept"
    fi
    data=${XDG_DATA_HOME:-$HOME/.local/share} cache=${XDG_CACHE_HOME:-$HOME/.cache}
    rm -rf "$data/stampede" "$cache/stampede" "/var/tmp/stampede-$(id -u)"
    rmdir "$data" "$HOME/.local" "$cache" 2>/dev/null || true
    echo "Removed your studies and caches."
}

# Nothing runs before all of this has arrived.
main "$@"
