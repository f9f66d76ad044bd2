#!/usr/bin/env bash
# Makes the images of the tests with containers as archives, unless they are there: the smallest Debian, upon which an exported
# image is built, and the same with software, with which both tests begin. Only one at a time makes them; others wait for it.
# See docs/testing.md.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/target/base-image
base=$folder/bookworm.tar
software=$folder/bookworm-software.tar

mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
[ ! -f "$software" ] || exit 0
# On a file system that lets devices be made, which that of the repository may not.
scratch=$(mktemp -d -p /var/tmp)
root=$scratch/root
trap 'rm -rf "$scratch" "$folder"/*.part' EXIT

# What apt has downloaded is not needed again, and is two fifths of it all; lists of packages are kept where they are given.
archive() {
    local archive=$1
    shift
    tar --exclude='./var/cache/apt/*.bin' --exclude='./var/cache/apt/archives/*.deb' "$@" -C "$root" -cf "$archive.part" .
    mv "$archive.part" "$archive"
}

debootstrap --variant=minbase bookworm "$root"
# As in Debian's own images, dpkg does not wait until each file is on the disk, and apt gets no translations and keeps its lists
# small.
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/docker-apt-speedup"
echo 'Acquire::Languages "none";' >"$root/etc/apt/apt.conf.d/docker-no-languages"
echo 'Acquire::GzipIndexes "true";' >"$root/etc/apt/apt.conf.d/docker-gzip-indexes"
archive "$base" --exclude='./var/lib/apt/lists/*'

# Services are not started: invoke-rc.d(8).
policy=$root/usr/sbin/policy-rc.d
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod 755 "$policy"
inside() { unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" "$@"; }
inside apt-get update -qq
# What PostgreSQL needs, without itself, which a test installs, as the other does Apache.
inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    nginx php-cli php-fpm php-mbstring php-parsedown libllvm14 postgresql-common
rm "$policy"
# With its lists, so that what a test installs upon it asks whether they have changed and does not get them again.
archive "$software"
