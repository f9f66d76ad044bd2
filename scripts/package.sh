#!/usr/bin/env bash
# Packs a program: package.sh PROGRAM ARCHITECTURE LICENCES FOLDER
#
# Writes stampede-VERSION-ARCHITECTURE.tar.gz and stampede_VERSION_ARCHITECTURE.deb into FOLDER: the program with manual pages,
# completions and licences. LICENCES is a file with those of the libraries inside. RUN names a program that runs here, for manual pages
# and completions, where PROGRAM is of another architecture; MAINTAINER is who the package is from. The same input gives the same bytes: SOURCE_DATE_EPOCH is the time of all
# files, that of the commit by default.
set -euo pipefail
program=$(readlink -f "${1:?the program}") architecture=${2:?its architecture} licences=$(readlink -f "${3:?a file of licences}")
mkdir -p "${4:?a folder}"
out=$(readlink -f "$4")
run=${RUN:-$program}
cd "$(dirname "$0")/.."

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} LC_ALL=C TZ=UTC
maintainer=${MAINTAINER:-The Stampede contributors <stampede@localhost>}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
case $architecture in
    x86_64) debian=amd64 ;;
    aarch64) debian=arm64 ;;
    *) echo "unknown architecture: $architecture" >&2; exit 2 ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
umask 022

# What both have: below /usr, or /usr/local.
tree=$scratch/stampede-$version-$architecture
doc=$tree/share/doc/stampede
mkdir -p "$tree"/{bin,share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}} "$doc"
install -m 755 "$program" "$tree/bin/stampede"
"$run" help man --dir "$tree/share/man/man1"
gzip -9n "$tree"/share/man/man1/*
"$run" completions bash >"$tree/share/bash-completion/completions/stampede"
"$run" completions zsh >"$tree/share/zsh/vendor-completions/_stampede"
"$run" completions fish >"$tree/share/fish/vendor_completions.d/stampede.fish"
gzip -9nc "$licences" >"$doc/licences.gz"
gzip -9nc CHANGELOG.md >"$doc/CHANGELOG.md.gz"
settle() { find "$1" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +; }

archive=$scratch/archive/$(basename "$tree")
mkdir -p "$scratch/archive"
cp -R "$tree" "$archive"
cp LICENSE-APACHE LICENSE-MIT "$archive/share/doc/stampede"
# zsh looks here below /usr/local, and nowhere below the other.
mv "$archive/share/zsh/vendor-completions" "$archive/share/zsh/site-functions"
settle "$archive"
tar --sort=name --owner=0 --group=0 --numeric-owner --format=ustar -C "$scratch/archive" -c "$(basename "$archive")" |
    gzip -9n >"$out/stampede-$version-$architecture.tar.gz"

deb=$scratch/deb
mkdir -p "$deb/DEBIAN" "$deb/usr/share/lintian/overrides"
cp -R "$tree/." "$deb/usr"
mv "$deb/usr/share/doc/stampede/CHANGELOG.md.gz" "$deb/usr/share/doc/stampede/NEWS.md.gz"
cat >"$deb/usr/share/doc/stampede/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: stampede
Comment: Libraries inside the program have licences of their own: see licences.gz.

Files: *
$(sed -n 's/^Copyright (c) /Copyright: /p' LICENSE-MIT)
License: Expat or Apache-2.0

License: Expat
$(sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /')

License: Apache-2.0
 See /usr/share/common-licenses/Apache-2.0.
END
gzip -9nc >"$deb/usr/share/doc/stampede/changelog.gz" <<END
stampede ($version) unstable; urgency=medium

  * See NEWS.md.gz.

 -- $maintainer  $(date --rfc-email --date "@$SOURCE_DATE_EPOCH")
END
cp packaging/lintian-overrides "$deb/usr/share/lintian/overrides/stampede"
size=$(du -sk --apparent-size "$deb/usr" | cut -f 1)
cat >"$deb/DEBIAN/control" <<END
Package: stampede
Version: $version
Architecture: $debian
Maintainer: $maintainer
Installed-Size: $size
Recommends: ca-certificates
Suggests: apache2-bin, libapache2-mod-php, nginx, php-cli, php-fpm, php-mbstring, php-parsedown
Section: devel
Priority: optional
Description: test bench for PHP runtimes
 Serves a PHP application on each runtime that is installed (nginx, Apache,
 FrankenPHP, RoadRunner, Swoole and others) under the same limits of CPU and
 memory, checks the answers, drives load, and reports which runtime is faster,
 by how much, and how sure that is.
END
find "$deb" -type d -exec chmod 755 {} +
(cd "$deb" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
settle "$deb"
dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$deb" "$out/stampede_${version}_$debian.deb" >/dev/null
