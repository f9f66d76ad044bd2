#!/usr/bin/env bash
# The second step of the action (action.yml): measures, and writes summary, outputs and a folder of reports. It fails never, so that
# the steps behind it keep and comment what came out; the last one ends with the exit code.
set -euo pipefail

event() { jq --raw-output "$1 // empty" "$GITHUB_EVENT_PATH"; }
base=${BASE:-$(event '.pull_request.base.sha // .before')}
head=${HEAD:-$(event '.pull_request.head.sha // .after')}
head=${head:-${GITHUB_SHA:-}}
report=$RUNNER_TEMP/stampede-gate
rm -rf "$report"
mkdir -p "$report"
event .pull_request.number >"$report/pull-request"

# A checkout has one commit by default.
fetched() {
    git cat-file -e "$1^{commit}" 2>/dev/null || git fetch --quiet --depth=1 origin "$1"
}

# Limits take root, or a control group from systemd, which Stampede asks for by itself.
as=()
if [ "$(id -u)" -ne 0 ] && sudo -n true 2>/dev/null; then
    as=(sudo -n env "PATH=$PATH" "GIT_CONFIG_COUNT=1" "GIT_CONFIG_KEY_0=safe.directory" "GIT_CONFIG_VALUE_0=*")
fi
measure() {
    local side args
    for side in "$base" "$head"; do
        [ -n "$side" ] || { echo "error: no base and head are known of this event; name both" >&2; return 2; }
        # What is no commit is a folder or another revision, which stampede looks for.
        if [[ $side =~ ^[0-9a-f]{40}$ ]] && ! fetched "$side"; then
            echo "error: commit $side cannot be fetched" >&2
            return 2
        fi
    done
    read -ra args <<<"$ARGS"
    cd "$FOLDER" || return 2
    "${as[@]}" stampede gate "$base" "$head" --github --junit "$report/gate.xml" --markdown "$report/comment.md" \
        --html "$report/report.html" --store "$report/studies.db" "${args[@]}"
}
set +e
{
    measure 2>&1 >&3 | tee "$report/log" >&2
    code=${PIPESTATUS[0]}
} 3>&1
set -e
[ ${#as[@]} -eq 0 ] || sudo -n chown -R "$(id -u)" "$report"

# Where nothing was measured there is no comment yet, and the end of the log has the reason.
verdict=$(sed -n 's/^### Performance: //p;q' "$report/comment.md" 2>/dev/null || true)
if [ -z "$verdict" ]; then
    verdict=broken
    [ "$code" -ne 0 ] || code=3
    reason=$(grep '^error: ' "$report/log" | head -n 1 || true)
    echo "::error title=stampede gate::nothing was measured (exit code $code): ${reason#error: }"
    printf '### Performance: broken\n\nNothing was measured (exit code %s).\n\n```\n%s\n```\n' \
        "$code" "$(tail -n 20 "$report/log" | sed 's/```/` ` `/g')" >"$report/comment.md"
fi
cat "$report/comment.md" >>"$GITHUB_STEP_SUMMARY"
printf '%s\n' "verdict=$verdict" "exit-code=$code" "report=$report" >>"$GITHUB_OUTPUT"
