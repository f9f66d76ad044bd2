#!/usr/bin/env bash
# Compares what is measured through an agent in another network namespace with what this process measures: throughput and CPU a
# request of one deployment, the two ways alternating in pairs whose order changes. Needs root, iproute2, jq and a quiet machine.
#
#   scripts/equivalence.sh [PAIRS] [RUNTIME] [WORKLOAD]      10 pairs of go and hello by default
set -euo pipefail
cd "$(dirname "$0")/.."

pairs=${1:-10}
runtime=${2:-go}
workload=${3:-hello}
stampede=${STAMPEDE:-target/release/stampede}
client=stampede-eq-$$
here=eqh$$
there=eqc$$
folder=$(mktemp -d)
cleanup() {
    ip netns del "$client" 2>/dev/null || true
    ip link del "$here" 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT
ip netns add "$client"
ip link add "$here" type veth peer name "$there" netns "$client"
ip addr add 10.98.7.1/24 dev "$here"
ip link set "$here" up
ip -n "$client" addr add 10.98.7.2/24 dev "$there"
ip -n "$client" link set "$there" up
ip -n "$client" link set lo up

# The server listens on the same address for both, so that the way there is the only difference: through the pair of veth for the
# agent, through the loopback device for this process. With VIA=loopback the agent is in this namespace, and only the vantage differs.
agent=(--generators "exec:'ip netns exec $client'")
if [ "${VIA:-veth}" = loopback ]; then agent=(--generators local); fi
# One backend for both.
common=(compare "$workload" --runtimes "$runtime" --server-address 10.98.7.1 --rounds 1 --duration 5s --warm-up 1s --backend epoll
    --no-yard-stick --quiet)
measure() { # name, flags
    local name=$1
    shift
    "$stampede" "${common[@]}" --json "$folder/result" "$@" >/dev/null || true
    jq -r --arg name "$name" '.cases[0].trials[0] | select(.outcome == "measured") |
        [$name, .throughput_rps, .cpu_us_per_request] | @tsv' "$folder/result" | tee -a "$folder/all" >&2
}
for ((pair = 0; pair < pairs; pair++)); do
    if ((pair % 2)); then
        measure agent "${agent[@]}"
        measure here
    else
        measure here
        measure agent "${agent[@]}"
    fi
done
awk -v pairs="$pairs" '
    { n[$1]++; rate[$1] += log($2); cpu[$1] += log($3) }
    END {
        if (!n["agent"] || !n["here"]) { print "nothing was measured"; exit 1 }
        printf "agent / here: throughput %.4f, CPU a request %.4f (geometric means; %d and %d of %d measured)\n",
            exp(rate["agent"] / n["agent"] - rate["here"] / n["here"]),
            exp(cpu["agent"] / n["agent"] - cpu["here"] / n["here"]), n["agent"], n["here"], pairs
    }' "$folder/all"
