# Generators in the cluster that test.sh has started, which reads this.
make /apis/apps/v1/namespaces/shop/deployments <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "localhost/stampede:test", imagePullPolicy: Never, command: [stampede, __yard-stick, "0.0.0.0:8080"]}
YAML
make /api/v1/namespaces/shop/services <<YAML
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
YAML
web_is_ready() { [ "$(api GET /apis/apps/v1/namespaces/shop/deployments/web | jq .status.readyReplicas)" = 2 ]; }
wait_for 120 "two pods are ready" web_is_ready

load() { # log, then more arguments
    local log=$1
    shift
    "$stampede" load "${url:-http://web.shop.svc/}" --namespace shop --generators kubernetes:2 --generator-cpus 0.4 --threads 1 \
        --generator-image "${image:-localhost/stampede:test}" --json "$work/$log.json" "$@" > "$work/$log.log" 2>&1
}
# A busy machine makes a load invalid (4), which is no failure of this test.
loaded() { load "$@" || [ $? = 4 ]; }
refused() { # words, then more arguments
    local words=$1 code=0
    shift
    load refused "$@" || code=$?
    [ $code = 3 ] && grep -q "$words" "$work/refused.log" && wait_for 60 "nothing is left" nothing_left
}

check "an expired token" refused "the token has expired" --kube-context expired
check "an API server that is away" refused "is not reached: " --kube-context away
check "missing rights, all at once" refused "create jobs, delete jobs, list jobs, delete pods, .*list endpointslices" --kube-context limited
url=http://none.shop.svc/ check "a service that is not there" refused "the service none: it is not in the namespace"
url=http://web.shop.svc:81/ check "a port that a service does not have" refused "it has no port 81"
image=localhost/none:1 check "an image that is not there" refused "the image of pod .* cannot be used: ImagePullBackOff"

grant
check "a load with the rights of the Role alone" loaded role --kube-context limited --load open:200 --duration 5s
cat "$work/role.log"
adds_up='.requests as $all | (.generators | length == 2) and (([.generators[].requests.sent] | add) == $all.sent)
    and $all.sent == 1000 and $all.ok + $all.failed + $all.unfinished == 1000 and .response_us.count == $all.ok'
check "the result is the sum of two generators" jq -e "$adds_up" "$work/role.json"
wait_for 60 "a load that ended leaves nothing" nothing_left
echo "ok: a load that ended leaves nothing"

running() { [ -s "$work/seconds" ]; }
rm -f "$work/seconds"
load lost --load open:200 --duration 20s --timeseries "$work/seconds" & loading=$!
wait_for 120 "a load begins" running
api DELETE "/api/v1/namespaces/shop/pods/$(named /api/v1/namespaces/shop/pods generator | head -1)" > "$work/deleted.json"
code=0
wait $loading || code=$?
grep -h "is lost after" "$work/lost.log" | sort -u
check "a generator whose pod is deleted makes the load invalid" test $code = 4
check "the pod is named" grep -q "generator kubernetes#1 is lost after [1-9].*; it said: pod stampede-.* on node node-1: " "$work/lost.log"
wait_for 60 "it leaves nothing" nothing_left

rm -f "$work/seconds"
load guardian --load open:200 --duration 25s --timeseries "$work/seconds" & loading=$!
wait_for 120 "a load begins" running
first=$(named /api/v1/namespaces/shop/pods guardian)
api DELETE "/api/v1/namespaces/shop/pods/$first" > "$work/deleted.json"
another() { [ -n "$(named /api/v1/namespaces/shop/pods guardian | grep -v "$first")" ]; }
wait_for 30 "another guardian" another
code=0
wait $loading || code=$?
check "a guardian that is evicted costs nothing" jq -e '.requests.sent == 5000 and (.generators | all(.requests.sent == 2500))' "$work/guardian.json"
wait_for 60 "it leaves nothing" nothing_left

rm -f "$work/seconds"
load killed --load open:200 --duration 60s --timeseries "$work/seconds" & loading=$!
wait_for 120 "a load begins" running
kill -KILL "$(pgrep -P $loading -x stampede || echo $loading)"
killed=$SECONDS
"$stampede" clean --platform kubernetes --namespace shop
wait_for 120 "a Stampede that was killed leaves nothing after two minutes" nothing_left
echo "ok: a Stampede that was killed leaves nothing: $((SECONDS - killed)) s"
"$stampede" clean --platform kubernetes --namespace shop
