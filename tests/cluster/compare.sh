# Deployments in the cluster that test.sh has started, which reads this. Whoever asks has the rights of the Role alone.

# A busy machine makes trials invalid (4), and leaves a gate undecided (1), which is no failure of this test.
measured() {
    local code=0
    compared "$@" || code=$?
    [ $code = 0 ] || [ $code = 1 ] || [ $code = 4 ]
}
unmeasured() { # words, then more arguments
    local words=$1 code=0
    shift
    compared unmeasured compare --rounds 3 "$@" || code=$?
    [ $code -ge 3 ] && grep -q "$words" "$work/unmeasured.log" && wait_for 90 "nothing is left" nothing_left
}

quota='{apiVersion: v1, kind: ResourceQuota, metadata: {name: small}, spec: {hard: {limits.cpu: "1"}}}'
check "an image that is not there" unmeasured "the image localhost/none:1 cannot be used (pod stampede-.*): ImagePullBackOff" --image localhost/none:1
check "an image that listens nowhere" unmeasured "it listens on no port" --image localhost/pause:1 --ready-timeout 3s
echo "$quota" | make /api/v1/namespaces/shop/resourcequotas
cpus=1.5 check "a quota of the namespace" unmeasured "exceeded quota: small, requested: limits.cpu=1500m" --image localhost/served-fast:1
api DELETE /api/v1/namespaces/shop/resourcequotas/small > "$work/deleted.json"
cpus=1000 check "no node that fits" unmeasured "no node has room for a deployment of 1000 CPU .* Insufficient cpu" --image localhost/served-fast:1

both=(--image fast=localhost/served-fast:1 --image slow=localhost/served-slow:1)
rm -f "$work"/{compare,gate,evicted,hoarded}.db*
check "two images are compared" measured compare compare "${both[@]}" --rounds 3 --json "$work/compare.json"
cat "$work/compare.log"
read_back='.cases | length == 2 and all(.platform == "kubernetes" and .enforced.cpus == 0.3 and .enforced.memory_bytes == 67108864
    and (.base_image | test("@sha256:")) and (.trials | length == 3))'
check "limits and images are read back" jq -e "$read_back" "$work/compare.json"
wait_for 90 "a study that ended leaves nothing" nothing_left
echo "ok: a study that ended leaves nothing"

check "a gate of two images" measured gate gate image:localhost/served-fast:1 image:localhost/served-slow:1 --max-time 3m
cat "$work/gate.log"
wait_for 90 "a gate leaves nothing" nothing_left

evict() {
    echo "{apiVersion: policy/v1, kind: Eviction, metadata: {name: $1}}" | make "/api/v1/namespaces/shop/pods/$1/eviction"
}
befallen() { # log, words
    jq -e --arg words "$2" '[.cases[].trials[] | select(.outcome != "measured") | .reason] | any(test($words))' "$work/$1.json" > "$work/befallen.json"
}

duration=25s compared evicted compare "${both[@]}" --rounds 1 --json "$work/evicted.json" & measuring=$!
wait_for 180 "a case serves" serves 12
evict "$(cat "$work/serving")"
wait $measuring || true
check "a trial whose pod is evicted is invalid, with pod and node" befallen evicted "^pod stampede-.* on node node-1: (EvictionByEvictionAPI|it was deleted or evicted)"
wait_for 90 "it leaves nothing" nothing_left

mkdir -p "$work/hoard"
echo "{app: {dir: ., requests: [{path: /hoard}]}, cases: [{id: hoarder, runtime: image, image: {name: 'localhost/served-fast:1'}}]}" > "$work/hoard/stampede.yaml"
compared hoarded compare "$work/hoard" --rounds 1 --json "$work/hoarded.json" || true
check "a case that is killed for memory has failed, with pod and node" befallen hoarded "OOMKilled \\(exit code 137\\).*pod stampede-.* on node node-1"
wait_for 90 "it leaves nothing" nothing_left

duration=60s compared killed compare "${both[@]}" --rounds 1 & measuring=$!
wait_for 180 "a case serves" serves 3
kill -KILL "$(pgrep -P $measuring -x stampede || echo $measuring)"
killed=$SECONDS
"$stampede" clean --platform kubernetes --namespace shop
wait_for 120 "a Stampede that was killed leaves nothing after two minutes" nothing_left
echo "ok: a study that was killed leaves nothing: $((SECONDS - killed)) s"
