# An API server that stands still, is killed and begins again while a study runs, in the cluster that test.sh has started, which reads this.
both=(--image fast=localhost/served-fast:1 --image slow=localhost/served-slow:1)
is_back() { api GET /readyz > "$work/readyz" 2>&1; }
away() { # log, seconds: half of them it stands still, and for the rest nobody listens
    local process half=$(($2 / 2))
    rm -f "$work/$1".db*
    generators=2 duration=20s compared "$1" compare "${both[@]}" --rounds 3 --json "$work/$1.json" & measuring=$!
    wait_for 180 "a case serves" serves 8
    process=$(pgrep -P $cluster -f kube-apiserver)
    kill -STOP "$process"
    sleep $half
    kill -KILL "$process"
    sleep $half
    kill -USR2 $cluster
    wait_for 120 "the API server is back" is_back
    back=$SECONDS code=0
    wait $measuring || code=$?
    echo "away for $2 s: the study ends with exit code $code, $((SECONDS - back)) s after it was back"
    # Two minutes, unless the study has gone on for longer.
    rest=$((120 + back - SECONDS))
    cat "$work/$1.log"
    wait_for $((rest > 60 ? rest : 60)) "nothing is left after an API server was away for $2 s" nothing_left
    echo "ok: nothing is left $((SECONDS - back)) s after the API server was back"
}
outcomes() { jq -c '[.cases[].trials[].outcome] | group_by(.) | map({(.[0]): length}) | add' "$work/$1.json"; }

away half-minute 20
outcomes half-minute
check "it costs the study one trial" jq -e '[.cases[].trials[]] | length == 6 and ([.[] | select(.reason // "" | test("is lost"))] | length == 1)' \
    "$work/half-minute.json"
away minute 60
check "the study ends, and says why" grep -q "the study ends here: its lease was not renewed" "$work/minute.log"
