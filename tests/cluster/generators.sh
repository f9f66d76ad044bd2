# One of two generators that something befalls, on the three nodes of the cluster that test.sh has started, which reads this: the load is
# invalid, with its name and the reason.
deploy befallen localhost/served-fast:1 'cpu: 300m, memory: 32Mi'
by_two() { # log
    "$stampede" load http://befallen.shop.svc/ --namespace shop --generators kubernetes:2 --generator-cpus 0.4 --threads 1 \
        --generator-image localhost/stampede:test --load open:200 --duration 20s --timeseries "$work/seconds" > "$work/$1.log" 2>&1
}
under_load() { [ -s "$work/seconds" ]; }
generator() { named /api/v1/namespaces/shop/pods generator | head -1; }
processes() { # pod: those in it
    local uid
    uid=$(api GET "/api/v1/namespaces/shop/pods/$1" | jq -r .metadata.uid)
    grep -lE "pod(${uid}|${uid//-/_})" /proc/[0-9]*/cgroup 2> /dev/null | cut -d/ -f3
}
agent() { # pod: the process that drives load in it
    local pid
    for pid in $(processes "$1"); do
        if tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q __agent; then echo "$pid"; fi
    done
}
quota() { # pod: the file with what its container may use of a period
    local path
    path=$(sed -nE 's/^[0-9]+:([^:]*,)?cpu(,[^:]*)?:(.*)$/\3/p' "/proc/$(agent "$1" | head -1)/cgroup")
    echo "$(grep -E ' - cgroup .*[ ,]cpu(,|$)' /proc/self/mountinfo | cut -d' ' -f5 | head -1)$path/cpu.cfs_quota_us"
}
told() { # name of the case, log, what must be told
    [ -n "$code" ] || { wait $loading && code=0 || code=$?; }
    sed -nE "s/.*(generator kubernetes#[12] $3.*)/\1/p" "$work/$2.log" | head -1
    check "$1 makes the load invalid" test $code = 4
    check "its name and the reason are told" grep -qE "generator kubernetes#[12] $3" "$work/$2.log"
    wait_for 60 "it leaves nothing" nothing_left
    code=
}

code=
rm -f "$work/seconds"
by_two evicted & loading=$!
wait_for 120 "a load begins" under_load
pod=$(generator)
echo "{apiVersion: policy/v1, kind: Eviction, metadata: {name: $pod}}" | make "/api/v1/namespaces/shop/pods/$pod/eviction"
told "a generator that is evicted" evicted "is lost after [1-9].*pod stampede-.* on node node-[0-9]: "

rm -f "$work/seconds"
by_two throttled & loading=$!
wait_for 120 "a load begins" under_load
echo 1000 > "$(quota "$(generator)")"
told "a generator that is throttled" throttled "was throttled for "

# It stands still, but for moments, while the order for the common start comes. When that is, is a matter of chance: it is tried again.
ready() { grep -q "generator kubernetes#2 can send" "$work/late.log"; }
for _ in 1 2 3 4 5 6; do
    rm -f "$work"/{seconds,late.log}
    by_two late & loading=$!
    wait_for 120 "the generators are ready" ready
    held=$(agent "$(generator)")
    for _ in 1 2 3 4; do
        kill -STOP $held
        sleep 0.35
        kill -CONT $held
        sleep 0.03
    done
    wait $loading && code=0 || code=$?
    ! grep -q "after the moment for all" "$work/late.log" || break
    wait_for 60 "it leaves nothing" nothing_left
done
told "a generator that begins late" late "began .* after the moment for all"
