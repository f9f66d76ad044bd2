#!/usr/bin/env bash
# Writes comment.md of a folder of reports as the one comment of Stampede on a pull request, or updates that: comment.sh FOLDER
#
# On workflow_run, where the folder comes from a run of a pull request and so from anybody, the pull request must be the one whose
# commit was measured. Without the right to write it says what to do and ends well.
set -euo pipefail
folder=${1:?a folder of reports}
mark='<!-- stampede gate -->'

number=$(jq --raw-output '.pull_request.number // empty' "$GITHUB_EVENT_PATH")
measured=$(jq --raw-output '.workflow_run.head_sha // empty' "$GITHUB_EVENT_PATH")
if [ -n "$measured" ]; then number=$(head -c 20 "$folder/pull-request"); fi
if [ -z "$number" ]; then echo "no pull request: no comment"; exit 0; fi
[[ $number =~ ^[0-9]+$ ]] || { echo "::error::pull-request of the artifact is no number"; exit 1; }

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT
# call METHOD PATH [BODY]: prints the status; the answer is in a file.
call() {
    curl --silent --show-error --request "$1" --output "$answer" --write-out '%{http_code}' \
        --header "Authorization: Bearer $GITHUB_TOKEN" --header 'Accept: application/vnd.github+json' \
        ${3+--data-binary "$3"} "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/$2"
}
# expect STATUS CODE...: ends unless it is one of these.
expect() {
    local status=$1 code
    shift
    for code in "$@"; do [ "$status" != "$code" ] || return 0; done
    if [ "$status" = 403 ] || [ "$status" = 404 ]; then
        echo "::notice::no comment: this token may not write here, as for pull requests from forks; docs/ci.md has the workflow that may"
        exit 0
    fi
    echo "::error::no comment: the API answered $status: $(head -c 300 "$answer")"
    exit 1
}

if [ -n "$measured" ]; then
    expect "$(call GET "pulls/$number")" 200
    if [ "$(jq --raw-output .head.sha "$answer")" != "$measured" ]; then
        echo "pull request $number has another commit than was measured: no comment"
        exit 0
    fi
fi
# The API takes 65,536 characters.
body=$(printf '%s\n%s\n' "$mark" "$(head -c 60000 "$folder/comment.md")" | jq --raw-input --slurp '{body: .}')
own='' page=1
while [ -z "$own" ]; do
    expect "$(call GET "issues/$number/comments?per_page=100&page=$page")" 200
    own=$(jq --raw-output --arg mark "$mark" 'map(select(.body | startswith($mark)))[0].id // empty' "$answer")
    [ "$(jq length "$answer")" -eq 100 ] || break
    page=$((page + 1))
done
if [ -n "$own" ]; then
    expect "$(call PATCH "issues/comments/$own" "$body")" 200
    echo "updated comment $own on pull request $number"
else
    expect "$(call POST "issues/$number/comments" "$body")" 201
    echo "commented on pull request $number"
fi
