# Replicas on the three nodes of the cluster that test.sh has started, which reads this.
make /apis/apps/v1/namespaces/shop/deployments <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: counted}
spec:
  replicas: 4
  selector: {matchLabels: {app: counted}}
  template:
    metadata: {labels: {app: counted}}
    spec:
      containers:
      - {name: server, image: "localhost/served-counted:1", imagePullPolicy: Never, resources: {limits: {cpu: 100m, memory: 32Mi}}}
YAML
make /api/v1/namespaces/shop/services <<YAML
apiVersion: v1
kind: Service
metadata: {name: counted}
spec: {selector: {app: counted}, ports: [{name: http, port: 80, targetPort: 8080}]}
YAML
are_ready() { [ "$(api GET /apis/apps/v1/namespaces/shop/deployments/counted | jq .status.readyReplicas)" = "$1" ]; }
wait_for 180 "four pods are ready" are_ready 4
pods() { api GET "/api/v1/namespaces/shop/pods?labelSelector=app=counted" | jq -r '.items[] | "\(.status.podIP) \(.spec.nodeName)"'; }
# What each of the four has counted since the last time: connections and requests.
counted() { for address in $(pods | cut -d' ' -f1); do curl --silent --fail "http://$address:8080/counted"; done; }

load() { # log, then more arguments
    local log=$1
    shift
    "$stampede" load http://counted.shop.svc/ --namespace shop --generators kubernetes:3 --generator-cpus 0.2 --threads 1 \
        --generator-image localhost/stampede:test --json "$work/$log.json" "$@" > "$work/$log.log" 2>&1
}
loaded() { load "$@" || [ $? = 4 ]; }
sums() { # log: what the servers counted is what was sent
    [ "$(awk '{sum += $2} END {print sum}' "$work/counted")" = "$(jq .requests.sent "$work/$1.json")" ]
}
pods > "$work/pods"
cat "$work/pods"
counted > "$work/counted"
check "64 connections of three generators" loaded closed --load closed:64 --duration 5s
counted > "$work/counted"
cat "$work/counted"
check "exactly 16 to each of 4 pods" test "$(cut -d' ' -f1 "$work/counted" | sort -u)" = 16
check "an open load of three generators" loaded open --load open:400@64 --duration 10s
counted > "$work/counted"
cat "$work/counted"
check "25 % of its requests within 1 point to each" awk '{all += $2; each[NR] = $2}
    END {for (i in each) if (each[i] < 0.24 * all || each[i] > 0.26 * all) exit 1; exit all == 0}' "$work/counted"
check "they have counted what was sent" sums open
grep "on node" "$work/open.log"

running() { [ -s "$work/seconds" ]; }
rm -f "$work/seconds"
loaded joined --load open:400@60 --duration 60s --timeseries "$work/seconds" & loading=$!
wait_for 120 "a load begins" running
api PATCH /apis/apps/v1/namespaces/shop/deployments/counted/scale -H 'Content-Type: application/merge-patch+json' \
    -d '{"spec": {"replicas": 5}}' > "$work/scaled.json"
wait_for 60 "a fifth pod is ready" are_ready 5
sleep 5
counted > "$work/counted"
sleep 5
counted > "$work/counted"
cat "$work/counted"
check "a pod that joins has its 20 % of connections and requests 5 s after it is ready" awk '{all += $2; each[NR] = $2; if ($1 != 12) bad = 1}
    END {for (i in each) if (each[i] < 0.19 * all || each[i] > 0.21 * all) exit 1; exit bad || all == 0 || NR != 5}' "$work/counted"
wait $loading
grep -h "pods of the service" "$work/joined.log"
check "and no request fails for it" jq -e '.requests.failed == 0 and .requests.sent == 24000' "$work/joined.json"

api DELETE /apis/apps/v1/namespaces/shop/deployments/counted > "$work/deleted.json"
counted_is_gone() { [ -z "$(pods)" ]; }
wait_for 120 "the service's pods are gone" counted_is_gone

both=(--image fast=localhost/served-fast:1 --image slow=localhost/served-slow:1)
# A busy machine makes trials invalid (4), and leaves questions undecided (1), which is no failure of this test.
asked() {
    local code=0
    "$@" || code=$?
    [ $code = 0 ] || [ $code = 1 ] || [ $code = 4 ]
}
rm -f "$work"/{nodes,capacity}.db*
generators=2 cpus=0.4 memory=256Mi driven=closed:64 check "two images, four replicas each" asked compared nodes compare "${both[@]}" --replicas 4 --rounds 2 \
    --json "$work/nodes.json"
cat "$work/nodes.log"
check "the node of all cases is in the result" jq -e '.node | startswith("node-")' "$work/nodes.json"
node=$(jq -r .node "$work/nodes.json")
check "no generator is on it" test "$(grep -c "of the generators is .* on node" "$work/nodes.log")$(grep -c "beside the cases" "$work/nodes.log")" = 20
each='.cases | all(.enforced.cpus == 0.4 and .enforced.memory_bytes == 268435456) and ([.[].trials[] | select(.outcome != "failed")]
    | length > 0 and all(.parts | length == 4 and all(.enforced_cpus == 0.1 and .enforced_memory_bytes == 67108864 and .requests > 0)))'
check "each replica has its equal part, and its requests" jq -e "$each" "$work/nodes.json"
jq -c '.cases[].trials[].parts | map([.part, .requests, .cpu_seconds])' "$work/nodes.json"
wait_for 90 "it leaves nothing" nothing_left

store=nodes check "why the slow one is slow" asked study why why slow --rounds 3
cat "$work/why.log"
wait_for 90 "it leaves nothing" nothing_left
check "the capacity of two replicas" asked study capacity capacity --image localhost/served-fast:1 --replicas 2 --cpus 0.4 --memory 128Mi \
    --platform kubernetes --slo "p99<200ms,errors<0.1%" --max-time 3m
cat "$work/capacity.log"
wait_for 90 "it leaves nothing" nothing_left
echo "ok: they leave nothing; cases were on $node"
