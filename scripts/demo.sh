#!/usr/bin/env bash
# Runs the first comparison with what it takes to enforce limits: demo.sh STAMPEDE
set -euo pipefail
stampede=${1:?the stampede program}
# As short as says something of runtimes that differ much.
study=(compare markdown --rounds 3 --duration 1s --warm-up 500ms)

# Stampede gets itself a control group from a user's own systemd, if that one may limit CPU time (docs/control-groups.md).
uid=$(id -u)
controllers=/sys/fs/cgroup/user.slice/user-$uid.slice/user@$uid.service/cgroup.controllers
if [ "$uid" -ne 0 ] && ! grep -qsw cpu "$controllers" && command -v sudo >/dev/null; then
    echo "Limits are enforced by the kernel's control groups, which needs root here: using sudo."
    exec sudo env "PATH=$PATH" "$stampede" "${study[@]}"
fi
exec "$stampede" "${study[@]}"
