# Makes a cluster and runs SQL in it: postgres_init.sh OUTPUT INITDB POSTGRES PSQL FILE [option of initdb]...
set -eu
output=$1 initdb=$2 postgres=$3 psql=$4 file=$5
shift 5
"$initdb" --pgdata="$output" "$@" >initdb.log 2>&1 || { cat initdb.log >&2; exit 1; }

# The path of a socket has room for 107 bytes, and this folder's may be longer.
PGHOST=$(mktemp -d)
export PGHOST PGUSER=stampede PGPASSWORD=stampede PGDATABASE=postgres PGCONNECT_TIMEOUT=5
"$postgres" -D "$output" -k "$PGHOST" -c listen_addresses= -c fsync=off >server.log 2>&1 &
server=$!
trap 'kill -INT "$server" 2>/dev/null || true; wait "$server" || true; rm -rf "$PGHOST"' EXIT
until "$psql" -X -q -c 'SELECT 1' >/dev/null 2>&1; do
    kill -0 "$server" 2>/dev/null || { cat server.log >&2; exit 1; }
    sleep 0.05
done
"$psql" -X -q -1 -v ON_ERROR_STOP=1 -o /dev/null -f "$file"
# What the servers would do later, while they are measured.
"$psql" -X -q -c 'VACUUM (FREEZE, ANALYZE)' -c CHECKPOINT
