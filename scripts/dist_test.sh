#!/usr/bin/env bash
# Installs the release in target/packages in a bare Debian from a file server on this machine, measures with it, and removes it: what is left
# is printed, and is a failure. Then the same with the .deb. Needs root, debootstrap and python3.
#
#   scripts/dist_test.sh            ROOT=FILE.tar names a Debian with php-cli (target/base-image has one after make check)
set -euo pipefail
# What is mounted goes with this process, and is never reached by what removes the root.
[ -n "${APART:-}" ] || exec env APART=1 unshare --mount --propagation private "$0" "$@"
cd "$(dirname "$0")/.."

dist=$(readlink -f "${CARGO_TARGET_DIR:-target}/packages")
archive=${ROOT:-target/base-image/bookworm-software.tar}
[ -f "$dist/SHA256SUMS" ] || { echo "no release in $dist: run make dist" >&2; exit 3; }
scratch=$(mktemp -d -p /var/tmp)
root=$scratch/root
server=''
trap '[ -z "$server" ] || kill "$server"; umount --recursive "$root/sys/fs/cgroup" && rm -rf --one-file-system "$scratch"' EXIT
mkdir -p "$root/sys/fs/cgroup"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
if [ -f "$archive" ]; then
    tar -C "$root" --exclude=./sys -xf "$archive"
else
    debootstrap --variant=minbase --include=php-cli,php-mbstring,php-parsedown bookworm "$root"
fi
inside() {
    unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" \
        chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
# Files of the root, without what programs of it log by themselves.
everything() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./tmp/install.sh \) -prune -o -print | sort); }

python3 -u -m http.server --bind 127.0.0.1 --directory "$dist" 0 >"$scratch/server" 2>&1 &
server=$!
until port=$(sed -n 's/^Serving HTTP on .* port \([0-9]*\).*/\1/p' "$scratch/server") && [ -n "$port" ]; do read -rt 0.1 <> <(:) || true; done
cp "$dist/install.sh" "$root/tmp/install.sh"

everything >"$scratch/before"
inside sh /tmp/install.sh --from "http://127.0.0.1:$port"
inside stampede --version --verbose
inside stampede compare markdown --runtimes php-cli-server --rounds 1 --duration 1s --no-yard-stick
inside sh /tmp/install.sh --purge
everything >"$scratch/after"
diff "$scratch/before" "$scratch/after" || { echo "that is left of it" >&2; exit 1; }
echo "installed, measured and removed: nothing is left"

cp "$dist"/*_amd64.deb "$root/tmp/stampede.deb"
inside dpkg --install /tmp/stampede.deb
inside stampede --version
inside dpkg --purge stampede
rm "$root/tmp/stampede.deb"
if inside sh -c 'command -v stampede'; then echo "the package leaves its program" >&2; exit 1; fi
