# What may be wrong beside load.sh and compare.sh, in the cluster that test.sh has started, which reads this.
both=(--image fast=localhost/served-fast:1 --image slow=localhost/served-slow:1)
said() { # words, then a command that ends with exit code 2 or 3
    local words=$1 code=0
    shift
    "$@" > "$work/said.log" 2>&1 || code=$?
    tail -n 3 "$work/said.log"
    { [ $code = 2 ] || [ $code = 3 ]; } && grep -q "$words" "$work/said.log" && wait_for 60 "nothing is left" nothing_left
}
plain=("$stampede" load http://127.0.0.1:8080/ --generators kubernetes:1 --threads 1 --duration 5s)
new=(--generator-image localhost/stampede:test) shop=(--namespace shop)
sed 's/^current-context: .*//' "$KUBECONFIG" > "$work/no-context"
KUBECONFIG=$work/no-context check "no current context" said "give --kube-context NAME; it has admin" "${plain[@]}" "${new[@]}"
KUBECONFIG=$work/none check "no kubeconfig" said "there is no usable kubeconfig" "${plain[@]}" "${new[@]}"
echo "{" > "$work/broken"
KUBECONFIG=$work/broken check "a broken kubeconfig" said "there is no usable kubeconfig" "${plain[@]}" "${new[@]}"
check "an unknown context" said 'no context "none"' "${plain[@]}" "${new[@]}" --kube-context none
check "a namespace that is not there" said 'the namespace "nowhere" is not there' "${plain[@]}" "${new[@]}" --namespace nowhere
check "no node that fits generators" said "no node has room for pod .* Insufficient cpu" "${plain[@]}" "${new[@]}" "${shop[@]}" --generator-cpus 900
check "generators of another version" said "0\.1\.9" "${plain[@]}" "${shop[@]}" --generator-cpus 0.2 --generator-image localhost/stampede:old
check "an image that is no Stampede" said "cannot be used: StartError: .* executable file not found" "${plain[@]}" "${shop[@]}" --generator-cpus 0.2 --generator-image localhost/served-fast:1

# Two studies at once, whose locks are on two machines as it were.
rm -f "$work"/{one,other}.db*
compared one compare "${both[@]}" --rounds 1 --json "$work/one.json" & one=$!
unshare -m bash -c 'mount -t tmpfs none /run/lock; "$@"' - "$stampede" compare "${both[@]}" --kube-context limited --namespace shop \
    --generator-image localhost/stampede:test --generators kubernetes:1 --generator-cpus 0.4 --duration 5s --store "$work/other.db" \
    --platform kubernetes --cpus 0.3 --memory 64Mi --warm-up 1s --load closed:4 --rounds 1 --json "$work/other.json" > "$work/other.log" 2>&1 & other=$!
together() { [ "$(runs_now)" = 2 ]; }
runs_now() { api GET "/apis/batch/v1/namespaces/shop/jobs?labelSelector=stampede/role=guardian" | jq '.items | length'; }
wait_for 60 "two studies run" together
for study in $one $other; do wait $study || [ $? = 4 ] || { cat "$work"/{one,other}.log; exit 1; }; done
two='.cases | length == 2 and all(.trials | length == 1 and all(.outcome != "failed"))'
check "two studies in one namespace" jq -e "$two" "$work/one.json"
check "the other one, too" jq -e "$two" "$work/other.json"
wait_for 90 "they leave nothing" nothing_left

# A node that goes away: its cable is pulled for a minute and a half. The API server is on the first one.
schedulable() { api PATCH /api/v1/nodes/node-1 -H 'Content-Type: application/merge-patch+json' -d "{\"spec\": {\"unschedulable\": $1}}" > "$work/patched.json"; }
schedulable true
rm -f "$work"/gone.db*
duration=20s compared gone compare "${both[@]}" --rounds 2 --json "$work/gone.json" & measuring=$!
wait_for 180 "a case serves" serves 8
node=$(sed -n 's/^each case runs on node //p' "$work/gone.log")
ip link set "stampede-v${node#node-}" down
sleep 90
ip link set "stampede-v${node#node-}" up
code=0
wait $measuring || code=$?
schedulable false
cat "$work/gone.log"
jq -c '[.cases[].trials[] | [.outcome, .reason]]' "$work/gone.json"
check "a node that goes away is named, and its trial does not count" \
    jq -e --arg node "$node" '[.cases[].trials[] | select(.outcome == "invalid") | .reason] | any(test("on node " + $node))' "$work/gone.json"
check "no case has failed for it" jq -e '[.cases[].trials[] | select(.outcome == "failed")] == []' "$work/gone.json"
wait_for 120 "it leaves nothing" nothing_left
