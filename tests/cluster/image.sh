#!/usr/bin/env bash
# Writes an image with one program and the libraries that it needs, as an archive that containerd imports.
#
#   tests/cluster/image.sh PROGRAM NAME:TAG OUT.tar [FOLDER WORDS...]
#
# The program becomes /usr/local/bin/PROGRAM's name, and what is started, with these words; what is in the folder is in the image's root, with
# the libraries of what is in its usr/local/bin. RUN_AS is the user, root by default; ENVIRONMENT has more variables, one a line.
set -euo pipefail
program=$1 name=$2 out=$3 folder=${4:-} words=("${@:5}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
install -D "$program" "$root/usr/local/bin/$(basename "$program")"
mkdir -p "$root/tmp" "$root/etc"
[ -z "$folder" ] || cp -a "$folder/." "$root"
# A program that is static has none.
for library in $(ldd "$program" "$root"/usr/local/bin/* 2>/dev/null | grep -o '^[^:]*$' | grep -o '/[^ )]*' | sort -u || true); do
    install -D "$(readlink -f "$library")" "$root$library"
done
tar -C "$root" --sort=name --owner=0 --group=0 -cf "$work/layer.tar" .
layer=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
architecture=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
cat > "$work/config.json" <<JSON
{"architecture": "$architecture", "os": "linux",
 "config": {"User": "${RUN_AS:-}", "Env": $(printf '%s\n' PATH=/usr/local/bin "${ENVIRONMENT:-}" | jq -cRn '[inputs | select(. != "")]'),
  "Entrypoint": ["/usr/local/bin/$(basename "$program")"],
  "Cmd": $(printf '%s\n' "${words[@]}" | jq -cRn '[inputs | select(. != "")]')},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]}}
JSON
cat > "$work/manifest.json" <<JSON
[{"Config": "config.json", "RepoTags": ["$name"], "Layers": ["layer.tar"]}]
JSON
tar -C "$work" -cf "$out" manifest.json config.json layer.tar
