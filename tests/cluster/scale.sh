# A HorizontalPodAutoscaler on CPU, and load through the address of a service, in the cluster that test.sh has started, which reads this.
autoscaled() { # name, image, CPUs: a deployment of such pods, its service, and an autoscaler of 1 to 4 that aims at half of their CPUs
    deploy "$1" "$2" "cpu: $3, memory: 32Mi"
    make /apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers <<YAML
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: $1}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  minReplicas: 1
  maxReplicas: 4
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
YAML
}
unscaled() { # name: removes them
    local kind
    for kind in autoscaling/v2/namespaces/shop/horizontalpodautoscalers apps/v1/namespaces/shop/deployments; do
        api DELETE "/apis/$kind/$1" > "$work/deleted.json"
    done
    api DELETE "/api/v1/namespaces/shop/services/$1" > "$work/deleted.json"
}
# Those that use at least a tenth of a CPU, as the metrics server has it.
busy_pods() { # name
    api GET "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app=$1" > "$work/pods.json"
    jq '[.items[] | select(.containers[0].usage.cpu | rtrimstr("n") | tonumber >= 1e8)] | length' "$work/pods.json"
}
are_busy() { [ "$(busy_pods "$1")" -ge "$2" ]; }
metered() { # how many nodes the metrics server knows
    api GET /apis/metrics.k8s.io/v1beta1/nodes > "$work/metered.json" 2>&1 && [ "$(jq '.items | length' "$work/metered.json")" = "$1" ]
}
load() { # log, generators, then more arguments
    local log=$1 generators=$2
    shift 2
    "$stampede" load "http://$(api GET /api/v1/namespaces/shop/services/slow | jq -r .spec.clusterIP)/" --namespace shop --threads 1 \
        --generators "kubernetes:$generators" --generator-cpus 0.4 --generator-image localhost/stampede:test --json "$work/$log.json" "$@" \
        > "$work/$log.log" 2>&1
}
loaded() { load "$@" || [ $? = 4 ]; }

autoscaled slow localhost/served-slow:1 200m
wait_for 60 "the metrics server knows three nodes" metered 3
check "the address of a service from three nodes" loaded address 3 --load open:60 --duration 5s
grep "on node" "$work/address.log"
check "one of them is its pod's" test "$(grep -o "on node .*" "$work/address.log" | sort -u | wc -l)" = 3
check "and no request fails" jq -e '.requests | .sent == .ok and .sent == 300' "$work/address.json"

# Connections are spread over the pods, so each request has its own.
load scaled 1 --load closed:8 --no-keepalive --duration 180s & loading=$!
begun=$SECONDS
wait_for 90 "the autoscaler has more pods" at_least slow 2
echo "ok: the autoscaler has $(ready_pods slow) pods that are ready $((SECONDS - begun)) s after the load began"
wait_for 90 "new pods get requests" are_busy slow 2
echo "ok: $(busy_pods slow) of $(ready_pods slow) pods are busy after $((SECONDS - begun)) s"
jq -c '.items[] | [.metadata.name, .containers[0].usage.cpu]' "$work/pods.json"
kill -INT "$(pgrep -P $loading || echo $loading)"
wait $loading || true
grep -E "requests  |status  " "$work/scaled.log"
unscaled slow
wait_for 60 "it leaves nothing" nothing_left

# The same by `stampede scale`, of an image whose requests take their time.
left_scaled() {
    left
    for kind in "autoscaling/v2/namespaces/$namespace/horizontalpodautoscalers"; do named "/apis/$kind" ""; done
    named "/api/v1/namespaces/$namespace/services" ""
}
nothing_scaled() { [ -z "$(left_scaled)" ]; }
of_works() { # log, then more arguments
    local log=$1
    shift
    "$stampede" scale --image localhost/served-works:1 --platform kubernetes --kube-context limited --namespace "$namespace" \
        --generator-image localhost/stampede:test --generator-cpus "${generator_cpus:-1}" --cpus 0.2 --memory 64Mi \
        --max-instances 4 --cpu-target 50% --seed 1 --store "$work/$log.db" "$@" > "$work/$log.log" 2>&1
}
measured() { of_works "$@" || [ $? = 5 ]; }
check "a service that the cluster scales" measured works --load open:10..100/90s --json "$work/works.json"
cat "$work/works.log"
trial='.cases[0].trials[0]'
check "every request is answered" jq -e "$trial.requests | .sent == .ok and .sent > 10000" "$work/works.json"
check "it had more than one pod" jq -e "$trial.instances.max > 1" "$work/works.json"
check "the autoscaler wanted them for what was used" \
    jq -e "[$trial.decisions[] | select(.wanted > 1)] | length > 0 and (map(.cpu_used) | max > 0.5)" "$work/works.json"
check "starts are known in their parts" jq -e "$trial.cold_starts | .p50_ms > .process_p50_ms and .process_p50_ms > .placed_p50_ms" \
    "$work/works.json"
check "what each pod used is known" jq -e "$trial.instance_cpus | length > 1 and all(. != null)" "$work/works.json"
wait_for 60 "nothing of it is left" nothing_scaled
echo "ok: nothing of it is left"
of_works killed --load open:20 & killed=$!
of_ours() { [ -n "$(named "/apis/autoscaling/v2/namespaces/$namespace/horizontalpodautoscalers" "")" ]; }
wait_for 120 "the service is there" of_ours
kill -KILL "$(pgrep -P $killed || echo $killed)"
wait $killed || true
begun=$SECONDS
wait_for 120 "a scale that was killed leaves nothing" nothing_scaled
echo "ok: a scale that was killed leaves nothing: $((SECONDS - begun)) s"
