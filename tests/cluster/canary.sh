# Knative's canary on a plain deployment, in the cluster that test.sh has started, which reads this: an application that sleeps for 100 ms, at
# 1,000 requests a second for two minutes, from one pod by `stampede load` and before and after that from another of the same size and on
# the same node by vegeta.
target=10.96.77.100
deploy sleeps localhost/served-sleeps:1 'cpu: 800m, memory: 128Mi' $target
canary() { # name, node: what vegeta sees
    make /apis/batch/v1/namespaces/shop/jobs <<YAML
apiVersion: batch/v1
kind: Job
metadata: {name: $1}
spec:
  backoffLimit: 0
  template:
    spec:
      nodeName: $2
      restartPolicy: Never
      containers:
      - name: canary
        image: localhost/canary:1
        imagePullPolicy: Never
        args: ["http://$target/", "1000", "${seconds:-120}"]
        resources: {limits: {cpu: "1", memory: 1Gi}}
YAML
    canary_done() { [ "$(api GET "/apis/batch/v1/namespaces/shop/jobs/$1" | jq '.status.succeeded // 0')" = 1 ]; }
    wait_for $((${seconds:-120} + 60)) "the canary $1 is over" canary_done "$1"
    local pod
    pod=$(api GET "/api/v1/namespaces/shop/pods?labelSelector=job-name=$1" | jq -r '.items[0].metadata.name')
    api GET "/api/v1/namespaces/shop/pods/$pod/log" > "$work/$1.json"
    echo "vegeta: $(cat "$work/$1.json")"
}
ours() {
    "$stampede" load "http://$target/" --namespace shop --threads 1 --generators kubernetes:1 --generator-cpus 1 \
        --generator-image localhost/stampede:test --load open:1000@256 --duration "${seconds:-120}s" --json "$work/canary-ours.json" \
        > "$work/canary-ours.log" 2>&1 || return
    # A node has no room for both.
    wait_for 60 "the generator is gone" nothing_left
}
placed() { sed -nE 's/^pod 1 of the generators is .* on node (node-[0-9]).*/\1/p' "$work/canary-ours.log"; }
# Where the scheduler has put the generator is known once it is over.
check "1,000 requests a second" ours
node=$(placed)
canary before "$node"
check "and again" ours
check "on the same node" test "$(placed)" = "$node"
jq -c '{sent: .requests.sent, ok: .requests.ok, p50_ms: (.response_us.p50 / 1e3), p95_ms: (.response_us.p95 / 1e3), p99_ms: (.response_us.p99 / 1e3)}' \
    "$work/canary-ours.json"
canary after "$node"
check "at least 99.9 % of the requests were sent" jq -e --argjson due "$((${seconds:-120} * 1000))" '.requests.sent >= 0.999 * $due' "$work/canary-ours.json"
theirs=$(jq -s 'map(.p95_ms) | add / 2' "$work/before.json" "$work/after.json")
check "p95 is within 2 ms of what vegeta sees" jq -e --argjson theirs "$theirs" '(.response_us.p95 / 1e3 - $theirs) | fabs <= 2' "$work/canary-ours.json"
in_range() { jq -en --argjson theirs "$theirs" '$theirs < 100 or $theirs > 105' > /dev/null || jq -e '.response_us.p95 | . >= 100e3 and . <= 105e3' "$work/canary-ours.json"; }
check "and from 100 to 105 ms where vegeta's is" in_range
