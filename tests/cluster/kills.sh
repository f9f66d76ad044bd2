# Ends that nobody prepared, in the cluster that test.sh has started, which reads this. MOMENTS says how often Stampede is killed.
both=(--image fast=localhost/served-fast:1 --image slow=localhost/served-slow:1)
for moment in $(seq "${MOMENTS:-20}"); do
    rm -f "$work"/killed.db*
    generators=2 memory=128Mi duration=10s compared killed compare "${both[@]}" --replicas 2 --rounds 1 & measuring=$!
    after=$(awk -v seed="$RANDOM" 'BEGIN {srand(seed); printf "%.1f", rand() * 75}')
    sleep "$after"
    kill -KILL "$(pgrep -P $measuring -x stampede || echo $measuring)" 2> "$work/kill.log" || true
    killed=$SECONDS
    found=$(left | wc -l)
    wait_for 120 "nothing is left of moment $moment, after $after s" nothing_left
    echo "ok: killed after $after s with $found objects: nothing is left after $((SECONDS - killed)) s"
    wait $measuring 2> "$work/wait.log" || true
done

rm -f "$work"/away.db*
generators=2 duration=30s compared away compare "${both[@]}" --rounds 1 --json "$work/away.json" & measuring=$!
wait_for 180 "a case serves" serves 5
kill -USR1 $cluster
sleep 60
kill -USR2 $cluster
is_back() { api GET /readyz > "$work/readyz" 2>&1; }
wait_for 120 "the API server is back" is_back
back=$SECONDS
code=0
wait $measuring || code=$?
echo "an API server that was away for a minute: exit code $code, $((SECONDS - back)) s after it was back"
tail -20 "$work/away.log"
wait_for 120 "nothing is left two minutes after an API server was away" nothing_left
echo "ok: an API server that was away for a minute leaves nothing: $((SECONDS - back)) s"
