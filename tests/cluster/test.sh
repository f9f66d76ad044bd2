#!/usr/bin/env bash
# Starts a real cluster (main.go) and has `stampede` tried in it: `make test-kubernetes`. `tests/cluster/test.sh PART` tries one part alone:
#
#   load      `stampede load --generators kubernetes`, on one node (load.sh)
#   compare   `stampede compare` and `gate` with `--platform kubernetes`, on one node (compare.sh)
#   nodes     replicas, and `capacity` and `why`, on three nodes (nodes.sh)
#   kills     a Stampede that is killed at random moments, on three nodes (kills.sh)
#   away      an API server that is away for a while, on three nodes (away.sh)
#   wrong     what else may be wrong, on three nodes (wrong.sh)
#   generators  one of two generators that is evicted, throttled or late, on three nodes (generators.sh)
#   canary    an application that sleeps, at 1,000 requests a second beside vegeta, on three nodes (canary.sh)
#   services  PostgreSQL beside two replicas, and studies that are resumed, on three nodes (services.sh); POSTGRES_ENTRYPOINT=FILE is what
#             starts PostgreSQL in place of postgres.sh: docker-entrypoint.sh of its makers' image
#   scale     a HorizontalPodAutoscaler on CPU, and load through the address of a service, on three nodes (scale.sh)
#   up        nothing: three nodes are there until standard input ends (up.sh)
#   frankenphp  an image of FrankenPHP with its makers' Caddyfile, on three nodes (frankenphp.sh); FRANKENPHP=FILE is the program
#
# STAMPEDE=FILE tries that program in place of one that is built here; on three nodes, several parts may be given at once.
#
# Needs root, Go, containerd, runc, the CNI plugins (containernetworking-plugins), iptables, gcc, curl and jq; services needs PostgreSQL. A cold
# build takes some 10 minutes. What is printed is what is seen; the exit code is that of the first check that fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
part=${1:-all}
case $part in
all)
    for part in load compare "nodes generators scale canary services wrong away kills"; do tests/cluster/test.sh $part; done
    exit
    ;;
load | compare) nodes=1 ;;
nodes | generators | scale | canary | services | kills | away | wrong | up | frankenphp) nodes=3 ;;
*)
    echo "there is no part $part: load, compare, nodes, generators, scale, canary, services, kills, away, wrong, up or frankenphp" >&2
    exit 2
    ;;
esac
for tool in go containerd runc ctr iptables gcc curl jq; do
    command -v "$tool" >/dev/null || { echo "install $tool" >&2; exit 3; }
done
[ -x /usr/lib/cni/bridge ] || { echo "install containernetworking-plugins" >&2; exit 3; }

work=$PWD/target/cluster
run=$work/run
stampede=${STAMPEDE:-$PWD/target/debug/stampede}
mkdir -p "$work"
rm -rf "$run"
. scripts/lint.sh
[ -n "${STAMPEDE:-}" ] || cargo build --locked --package stampede
export CGO_ENABLED=0 GOFLAGS=-mod=readonly
(cd tests/cluster && go build -o "$work/cluster" .)
images=("$work/pause.tar" "$work/stampede.tar")
for served in fast:100 slow:400; do
    name=served-${served%:*}
    (cd tests/cluster && go build -ldflags "-s -w -X main.rounds=${served#*:}" -o "$work/$name" ./served)
    tests/cluster/image.sh "$work/$name" "localhost/$name:1" "$work/$name.tar"
    images+=("$work/$name.tar")
done
(cd tests/cluster && go build -o "$work/served-counted" -ldflags "-s -w -X main.counts=yes" ./served)
tests/cluster/image.sh "$work/served-counted" localhost/served-counted:1 "$work/served-counted.tar"
images+=("$work/served-counted.tar")
if [[ " $* " = *" scale "* ]] || [ $part = all ]; then
    (cd tests/cluster && go build -o "$work/served-works" -ldflags "-s -w -X main.rounds=8000 -X main.sleeps=30ms" ./served)
    tests/cluster/image.sh "$work/served-works" localhost/served-works:1 "$work/served-works.tar"
    images+=("$work/served-works.tar")
fi
if [[ " $* " = *" canary "* ]] || [ $part = all ]; then
    (cd tests/cluster && go build -o "$work/served-sleeps" -ldflags "-s -w -X main.rounds=1 -X main.sleeps=100ms" ./served)
    tests/cluster/image.sh "$work/served-sleeps" localhost/served-sleeps:1 "$work/served-sleeps.tar"
    (cd tests/cluster && go build -o "$work/canary" -ldflags "-s -w" ./canary)
    tests/cluster/image.sh "$work/canary" localhost/canary:1 "$work/canary.tar"
    images+=("$work/served-sleeps.tar" "$work/canary.tar")
fi
gcc -static -O1 -o "$work/pause" tests/cluster/pause.c
strip -o "$work/stampede" "$stampede"
# By this name its processes are looked for.
stampede=$work/stampede
tests/cluster/image.sh "$work/pause" localhost/pause:1 "$work/pause.tar"
tests/cluster/image.sh "$work/stampede" localhost/stampede:test "$work/stampede.tar"

# The same program that says it is of another version.
sed 's/0\.2\.0/0.1.9/g' "$work/stampede" > "$work/old-stampede"
mkdir -p "$work/old"
install "$work/old-stampede" "$work/old/stampede"
tests/cluster/image.sh "$work/old/stampede" localhost/stampede:old "$work/old.tar"
images+=("$work/old.tar")
if [ -n "${FRANKENPHP:-}" ]; then
    mkdir -p "$work/franken/etc/frankenphp" "$work/franken/app/public"
    # As in https://github.com/php/frankenphp/blob/main/caddy/frankenphp/Caddyfile, as far as it is needed here.
    echo '{$SERVER_NAME:localhost} {
    root /app/public
    php_server
}' > "$work/franken/etc/frankenphp/Caddyfile"
    echo '<?php echo "served by ", PHP_SAPI, "\n";' > "$work/franken/app/public/index.php"
    tests/cluster/image.sh "$FRANKENPHP" localhost/frankenphp:test "$work/frankenphp.tar" "$work/franken" \
        run --config /etc/frankenphp/Caddyfile
    images+=("$work/frankenphp.tar")
fi

if [[ " $* " = *" services "* ]] || [ $part = all ]; then
    . tests/cluster/postgres-image.sh
fi

mkfifo "$work/line.$$"
"$work/cluster" up "$nodes" "$run" "${images[@]}" < "$work/line.$$" > "$work/up.log" 2>&1 &
cluster=$!
exec 9> "$work/line.$$"
rm "$work/line.$$"
end() { exec 9>&-; wait "$cluster" || true; }
trap end EXIT
until grep -q ready "$work/up.log"; do
    kill -0 "$cluster" || { cat "$work/up.log"; exit 1; }
    sleep 0.2
done

export KUBECONFIG=$run/kubeconfig
server=https://127.0.0.1:16443
api() { # method path [more of curl]
    local method=$1 path=$2
    shift 2
    curl --silent --show-error --fail-with-body --cacert "$run/ca.crt" -H 'Authorization: Bearer admin-token' -X "$method" "$server$path" "$@"
}
make() { api POST "$1" -H 'Content-Type: application/yaml' --data-binary @- > "$work/made.json"; }
named() { # kind role
    api GET "$1?labelSelector=stampede/run${2:+,stampede/role=$2}" | jq -r '.items[].metadata.name'
}
left() {
    local kind
    for kind in "batch/v1/namespaces/$namespace/jobs" "apps/v1/namespaces/$namespace/deployments"; do named "/apis/$kind" ""; done
    named "/api/v1/namespaces/$namespace/pods" ""
}
wait_for() { # seconds what command...
    local until=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ $SECONDS -lt "$until" ] || { echo "FAILED: $what"; exit 1; }
        sleep 0.2
    done
}
nothing_left() { [ -z "$(left)" ]; }
check() { # what is to be true: a name, then a command
    local name=$1
    shift
    if "$@"; then echo "ok: $name"; else echo "FAILED: $name"; exit 1; fi
}

namespace=${NAMESPACE:-shop}
echo "{apiVersion: v1, kind: Namespace, metadata: {name: $namespace}}" | make /api/v1/namespaces

deploy() { # name, image, limits of each pod, address of its service: waits until a pod of it is ready
    make /apis/apps/v1/namespaces/shop/deployments <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1}
spec:
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      containers:
      - name: server
        image: $2
        imagePullPolicy: Never
        resources: {limits: {$3}}
        readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}
YAML
    make /api/v1/namespaces/shop/services <<YAML
apiVersion: v1
kind: Service
metadata: {name: $1}
spec: {${4:+clusterIP: $4,} selector: {app: $1}, ports: [{name: http, port: 80, targetPort: 8080}]}
YAML
    wait_for 60 "a pod of $1 is ready" at_least "$1" 1
}
ready_pods() { api GET "/apis/apps/v1/namespaces/shop/deployments/$1" | jq '.status.readyReplicas // 0'; }
at_least() { [ "$(ready_pods "$1")" -ge "$2" ]; } # name, pods that are ready

grant() { # gives the user "limited" what the Role has
    "$stampede" show kubernetes-role --namespace "$namespace" --user limited > "$work/role.yaml"
    sed '/^---$/,$d' "$work/role.yaml" | make "/apis/rbac.authorization.k8s.io/v1/namespaces/$namespace/roles"
    sed '1,/^---$/d' "$work/role.yaml" | make "/apis/rbac.authorization.k8s.io/v1/namespaces/$namespace/rolebindings"
}

study() { # log, command, then more arguments
    local log=$1 command=$2
    shift 2
    "$stampede" "$command" "$@" --kube-context limited --namespace "$namespace" --generator-image localhost/stampede:test \
        --generators "kubernetes:${generators:-1}" --generator-cpus "${generator_cpus:-0.4}" --duration "${duration:-5s}" --store "$work/${store:-$log}.db" \
        > "$work/$log.log" 2>&1
}
# Deployments of a size, under a load.
compared() { # log, command, then more arguments
    study "$@" --platform kubernetes --cpus "${cpus:-0.3}" --memory "${memory:-64Mi}" --warm-up 1s --load "${driven:-closed:4}"
}
serves() { # for so many seconds, one under test: the windows are longer, and begin earlier
    api GET "/api/v1/namespaces/$namespace/pods?labelSelector=stampede/role=server" > "$work/serving.json"
    jq -er --argjson least "$1" '[.items[] | select(.status.containerStatuses[0].state.running.startedAt // empty | fromdate < now - $least)]
        | .[0].metadata.name' "$work/serving.json" > "$work/serving"
}

if [ $part != load ]; then grant; fi
for part in "$@"; do . "tests/cluster/$part.sh"; done
