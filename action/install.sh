#!/usr/bin/env bash
# The first step of the action (action.yml): puts the program on the search path of the steps to come.
set -euo pipefail

if [ -n "$PROGRAM" ]; then
    program=$(readlink -f "$PROGRAM") && [ -x "$program" ] || { echo "::error::program: $PROGRAM is no program"; exit 3; }
    mkdir -p "$RUNNER_TEMP/stampede/bin"
    ln -sf "$program" "$RUNNER_TEMP/stampede/bin/stampede"
else
    # A tag of the action is a release of the program.
    releases=${RELEASES:-$GITHUB_SERVER_URL/$ACTION_REPOSITORY/releases/download/$ACTION_REF}
    sh "$GITHUB_ACTION_PATH/scripts/install.sh" --from "$releases" --to "$RUNNER_TEMP/stampede" ||
        { echo "::error::Stampede could not be installed from $releases"; exit 3; }
fi
echo "$RUNNER_TEMP/stampede/bin" >>"$GITHUB_PATH"
