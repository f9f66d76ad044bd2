#!/usr/bin/env bash
# Makes the base image of the tests with containers, the smallest Debian as an archive, unless it is there. Only one at a
# time makes it; others wait for it. See docs/testing.md.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/target/base-image
archive=$folder/bookworm.tar

mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
[ ! -f "$archive" ] || exit 0
# On a file system that lets devices be made, which that of the repository may not.
root=$(mktemp -d -p /var/tmp)
trap 'rm -rf "$root" "$archive.part"' EXIT
debootstrap --variant=minbase bookworm "$root/root"
# What apt has downloaded is not needed again, and is two fifths of it all.
tar --exclude='./var/cache/apt/archives/*.deb' --exclude='./var/lib/apt/lists/*' -C "$root/root" -cf "$archive.part" .
mv "$archive.part" "$archive"
