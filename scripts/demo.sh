#!/usr/bin/env bash
# Runs the first comparison with what it takes to enforce limits: demo.sh STAMPEDE
set -euo pipefail
stampede=${1:?the stampede program}

if [ "$(id -u)" -eq 0 ]; then
    exec "$stampede" compare markdown
fi
# A user's own systemd may pass control groups on to a user (systemd.resource-control(5), Delegate=).
if systemd-run --user --scope --quiet -p Delegate=yes true 2>/dev/null; then
    exec systemd-run --user --scope --quiet -p Delegate=yes "$stampede" compare markdown
fi
if command -v sudo >/dev/null; then
    echo "Limits are enforced by the kernel's control groups, which needs root here: using sudo."
    exec sudo env "PATH=$PATH" "$stampede" compare markdown
fi
exec "$stampede" compare markdown
