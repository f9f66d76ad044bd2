# A Stampede that is killed at random moments, in the cluster that test.sh has started, which reads this. MOMENTS says how often. Each moment
# that is over is a line of target/cluster/kills.txt: a call after one that was interrupted does those that are missing.
#
# While what one has left ends, the next is begun: what is left is told by its run.
both=(--image fast=localhost/served-fast:1 --image slow=localhost/served-slow:1)
moments=$work/kills.txt
touch "$moments"
runs() { # of what there is: the label of each
    local all="" kind
    for kind in "apis/batch/v1/namespaces/$namespace/jobs" "apis/apps/v1/namespaces/$namespace/deployments" "api/v1/namespaces/$namespace/pods"; do
        all+=$(api GET "/$kind?labelSelector=stampede/run") || return 1
    done
    jq -r '.items[].metadata.labels["stampede/run"]' <<< "$all" | sort -u
}
ended() { # moment, after, objects, phase, runs: waits until nothing is left of them
    local killed=$SECONDS one all
    for one in $5; do
        until all=$(runs) && ! grep -qx "$one" <<< "$all"; do
            [ $((SECONDS - killed)) -lt 120 ] || { echo "FAILED: moment $1: $one is left: $(left | grep "$one" | tr '\n' ' ')"; return 1; }
            sleep 1
        done
    done
    echo "killed after $2 s with $3 objects, $4: nothing is left after $((SECONDS - killed)) s" | tee -a "$moments"
}
known="" waiting=()
for moment in $(seq $(($(wc -l < "$moments") + 1)) "${MOMENTS:-20}"); do
    rm -f "$work/killed$moment".db*
    generators=2 memory=128Mi duration=10s compared "killed$moment" compare "${both[@]}" --replicas 2 --rounds 1 & measuring=$!
    after=$(awk -v seed="$RANDOM" 'BEGIN {srand(seed); printf "%.1f", rand() * 75}')
    sleep "$after"
    # The shell that started it goes on to its end.
    kill -KILL "$(pgrep -P $measuring -x stampede)" || { cat "$work/killed$moment.log"; echo "FAILED: it had ended by itself"; exit 1; }
    wait $measuring 2> "$work/wait.log" || true
    all=$(runs)
    own=$(grep -vxF "${known:-none}" <<< "$all" || true)
    known+="${known:+$'\n'}$own"
    found=$(left | grep -cF "${own:-none}" || true)
    phase=$(tail -n 1 "$work/killed$moment.log" | cut -c1-60)
    ended "$moment" "$after" "$found" "${phase:-before it printed anything}" "$own" & waiting+=($!)
done
for one in "${waiting[@]}"; do wait "$one"; done
wait_for 10 "nothing is left of any" nothing_left
check "nothing is left of ${MOMENTS:-20} that were killed" test "$(wc -l < "$moments")" -ge "${MOMENTS:-20}"
sort -n -k3 "$moments"
