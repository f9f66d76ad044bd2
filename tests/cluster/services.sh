# PostgreSQL beside images, in the cluster that test.sh has started, which reads this; and studies that are resumed on their node.
mkdir -p "$work/rows"
cat > "$work/rows/stampede.yaml" <<YAML
workload: random-row
platform: kubernetes
cases:
- {id: net-http, runtime: image, image: {name: 'localhost/row-net-http:1'}}
- {id: gin, runtime: image, image: {name: 'localhost/row-gin:1'}}
topology:
  replicas: 2
  services:
    postgres: {image: 'localhost/postgres:$version', cpus: 0.3, memory: 256Mi, set: {max_connections: 40}}
YAML
rows() { # log, then more arguments
    local log=$1 code=0
    shift
    study "$log" compare "$work/rows" --cpus 0.7 --memory 512Mi --warm-up 1s --load closed:4 --ready-timeout 60s "$@" || code=$?
    # A busy machine makes trials invalid.
    [ $code = 0 ] || [ $code = 4 ]
}
mistaken() { "$stampede" compare "$work/rows" --generator-image localhost/stampede:test "$@" > "$work/mistaken.log" 2>&1 || [ $? = 2 ]; }
told() { grep -q "$1" "$work/mistaken.log"; }
mistaken --services postgres,redis --set postgres.max_connections=40 --dry-run
check "a service that is not started is refused" told "redis is not started in a cluster"

rm -f "$work"/{services,taken,resumed,moved}.db*
check "two images of two replicas each beside PostgreSQL" rows services --rounds 2 --json "$work/services.json"
cat "$work/services.log"
held='[.cases[].trials[] | select(.outcome != "failed") | .parts[]] | (length > 0) and all(
    (.part == "postgres" and .enforced_cpus == 0.3 and .enforced_memory_bytes == 268435456 and .settings.max_connections == "40")
    or (.part != "postgres" and .enforced_cpus == 0.2 and .enforced_memory_bytes == 134217728))'
check "each is held to its part, and PostgreSQL has the settings that were asked for" jq -e "$held" "$work/services.json"
check "no trial has failed" jq -e 'all(.cases[].trials[]; .outcome != "failed")' "$work/services.json"
works='[.cases[].trials[].parts[] | select(.part == "postgres") | .cpu_seconds] | any(. > 0)'
check "its processor time is measured" jq -e "$works" "$work/services.json"
wait_for 90 "nothing is left" nothing_left
echo "ok: nothing is left"

of_postgres() { # the pod of the service that serves now
    api GET "/api/v1/namespaces/shop/pods?labelSelector=stampede/role=server" > "$work/serving.json"
    jq -er '[.items[] | select(.spec.containers[0].image | test("postgres")) | select(.metadata.deletionTimestamp == null)] | .[0].metadata.name' \
        "$work/serving.json" > "$work/serving" && [ -n "$(measured_now)" ]
}
measured_now() { jq -r '[.items[] | select(.spec.containers[0].image | test("row")) | select(.status.containerStatuses[0].state.running.startedAt // empty
    | fromdate < now - 8)] | .[0].metadata.name // empty' "$work/serving.json"; }
duration=30s rows taken --rounds 1 --json "$work/taken.json" & measuring=$!
wait_for 240 "PostgreSQL serves" of_postgres
echo "{apiVersion: policy/v1, kind: Eviction, metadata: {name: $(cat "$work/serving")}}" | make "/api/v1/namespaces/shop/pods/$(cat "$work/serving")/eviction"
wait $measuring || true
befallen='[.cases[].trials[] | select(.outcome != "measured") | .reason] | any(test("pod " + $pod + " on node"))'
check "a trial whose PostgreSQL is evicted is invalid, with its pod" jq -e --arg pod "$(cat "$work/serving")" "$befallen" "$work/taken.json"
wait_for 90 "it leaves nothing" nothing_left

begun() { grep -q "^\[ *1/" "$work/moved.log"; }
rows moved --rounds 3 & measuring=$!
wait_for 300 "a trial is measured" begun
kill -INT "$(pgrep -P $measuring -x stampede || echo $measuring)"
wait $measuring || true
node=$(grep -o "each case runs on node .*" "$work/moved.log" | cut -d' ' -f6)
wait_for 90 "it leaves nothing" nothing_left
cordon() { api PATCH "/api/v1/nodes/$node" -H 'Content-Type: application/merge-patch+json' -d "{\"spec\": {\"unschedulable\": $1}}" > "$work/cordoned.json"; }
cordon true
store=moved rows gone --rounds 3 --resume || true
check "a study whose node takes no pods is not resumed elsewhere" grep "the study was measured on node $node, which has no room" "$work/gone.log"
cordon false
wait_for 90 "it leaves nothing" nothing_left
store=moved rows resumed --rounds 3 --resume --json "$work/resumed.json" || true
check "it is resumed on $node once that does" jq -e --arg node "$node" '.node == $node' "$work/resumed.json"
grep "each case runs on node $node" "$work/resumed.log"
wait_for 90 "it leaves nothing" nothing_left
