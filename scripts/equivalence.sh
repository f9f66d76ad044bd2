#!/usr/bin/env bash
# Compares what is measured through an agent in another network namespace with what this process measures: throughput and CPU a
# request of one deployment, the two ways alternating in pairs whose order changes. Needs root, iproute2, jq and a quiet machine.
#
#   scripts/equivalence.sh [MINUTES] [RUNTIME] [WORKLOAD]      12 minutes of go and hello by default
#
# It ends after so many minutes, or when there are as many pairs as their scatter needs; run it again to continue. Prints the
# ratios with their 90 % intervals: within 2 % of 1 the two ways are equivalent (two one-sided tests at 5 %). What was measured is
# kept in FOLDER (target/equivalence) for each program, runtime and workload. VIA=loopback has the agent in this namespace, so that
# only the vantage differs. PAIRS sets how many pairs are needed.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-12}
runtime=${2:-go}
workload=${3:-hello}
via=${VIA:-veth}
stampede=${STAMPEDE:-target/release/stampede}
kept=${FOLDER:-target/equivalence}/$runtime-$workload-$via-$(sha256sum "$stampede" | cut -c -12).tsv
mkdir -p "$(dirname "$kept")"
touch "$kept"
until=$((SECONDS + minutes * 60))
result=$(mktemp)
client=stampede-eq-$$
here=eqh$$
there=eqc$$
cleanup() {
    ip netns del "$client" 2>/dev/null || true
    ip link del "$here" 2>/dev/null || true
    rm -f "$result"
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
# agent, through the loopback device for this process.
agent=(--generators "exec:'ip netns exec $client'")
if [ "$via" = loopback ]; then agent=(--generators local); fi
# One backend for both.
common=(compare "$workload" --runtimes "$runtime" --server-address 10.98.7.1 --rounds 1 --duration 5s --warm-up 1s --backend epoll
    --no-yard-stick --quiet)
measure() { # flags; prints throughput and CPU a request, nothing of a trial that does not count
    : >"$result"
    "$stampede" "${common[@]}" --json "$result" "$@" >/dev/null || true
    jq -r '.cases[0].trials[0] | select(.outcome == "measured") | [.throughput_rps, .cpu_us_per_request] | @tsv' "$result"
}

# Pairs so far, those that are needed, and what they show. The number that is needed comes from the scatter alone, not from the
# ratios: 90 % power to find two ways equivalent that are alike, of the metric that scatters more, from 8 pairs on.
judge() { # print the verdict?
    awk -v verdict="$1" -v fixed="${PAIRS:-0}" '
        { for (m = 1; m <= 2; m++) { d = log($m / $(m + 2)); sum[m] += d; squares[m] += d * d } }
        END {
            margin = log(1.02); z = 1.6449; needed = 8
            for (m = 1; m <= 2; m++) {
                mean[m] = NR ? sum[m] / NR : 0
                variance = NR > 1 ? (squares[m] - NR * mean[m] ^ 2) / (NR - 1) : 0
                sd[m] = sqrt(variance > 0 ? variance : 0)
                n = (2 * z * sd[m] / margin) ^ 2 + 2
                if (NR >= 8 && n > needed) needed = n == int(n) ? n : int(n) + 1
            }
            if (fixed) needed = fixed
            if (!verdict) { print NR, needed; exit }
            if (NR < 2) { print "too few pairs were measured: " NR; exit 1 }
            # Quantile of the t distribution from that of the normal one (Abramowitz and Stegun 26.7.5).
            df = NR - 1
            t = z + (z ^ 3 + z) / (4 * df) + (5 * z ^ 5 + 16 * z ^ 3 + 3 * z) / (96 * df ^ 2)
            split("throughput,CPU a request", names, ",")
            printf "%d of %d pairs\n", NR, needed
            for (m = 1; m <= 2; m++) {
                half = t * sd[m] / sqrt(NR)
                low = mean[m] - half; high = mean[m] + half
                if (low > -margin && high < margin) found = "equivalent within 2 %"
                else if (low > margin || high < -margin) found = "differs by more than 2 %"
                else found = "undecided"
                printf "%s, agent / here: %.4f (90 %% interval %.4f to %.4f), pairs scatter by %.1f %%: %s\n",
                    names[m], exp(mean[m]), exp(low), exp(high), 100 * sd[m], found
            }
        }' "$kept"
}

failures=0
while read -r pairs needed < <(judge 0) && [ "$pairs" -lt "$needed" ] && [ "$SECONDS" -lt "$until" ]; do
    if ((pairs % 2)); then
        by_agent=$(measure "${agent[@]}")
        by_here=$(measure)
    else
        by_here=$(measure)
        by_agent=$(measure "${agent[@]}")
    fi
    if [ -z "$by_agent" ] || [ -z "$by_here" ]; then
        echo "a pair does not count: a trial of it failed or was invalid" >&2
        if ((++failures == 5)); then
            echo "no pair counts; look why: $stampede ${common[*]}" >&2
            exit 1
        fi
        continue
    fi
    failures=0
    printf '%s\t%s\n' "$by_agent" "$by_here" | tee -a "$kept" >&2
done
judge 1
