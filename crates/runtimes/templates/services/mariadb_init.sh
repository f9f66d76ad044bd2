# Makes a data folder and runs SQL in its database: mariadb_init.sh OUTPUT INSTALL MARIADBD MARIADB FILE [option of INSTALL]...
set -eu
output=$1 install=$2 mariadbd=$3 mariadb=$4 file=$5
shift 5
"$install" --no-defaults --datadir="$output" "$@" >install.log 2>&1 || { cat install.log >&2; exit 1; }

# The path of a socket has room for 107 bytes, and this folder's may be longer.
folder=$(mktemp -d)
"$mariadbd" --no-defaults --datadir="$output" --socket="$folder/s" --pid-file="$folder/pid" --skip-networking \
    --skip-log-bin >server.log 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" || true; rm -rf "$folder"' EXIT
ask() { "$mariadb" --no-defaults --socket="$folder/s" --batch "$@"; }
until ask --user=root --execute 'SELECT 1' >/dev/null 2>&1; do
    kill -0 "$server" 2>/dev/null || { cat server.log >&2; exit 1; }
    sleep 0.05
done
ask --user=root --execute "CREATE DATABASE IF NOT EXISTS stampede; CREATE USER 'stampede'@'localhost' IDENTIFIED BY 'stampede';
    GRANT ALL ON *.* TO 'stampede'@'localhost'"
# Triggers and views belong to who makes them, and are run in that name: a user that is still there when they are.
MYSQL_PWD=stampede ask --user=stampede --database=stampede --default-character-set=utf8mb4 <"$file" >/dev/null || {
    echo "mariadb stopped in $file" >&2
    exit 1
}
