#!/usr/bin/env bash
# Starts PostgreSQL by the variables of its makers' image: https://hub.docker.com/_/postgres
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    # The arguments are as a shell would write them.
    eval "initdb --username=$POSTGRES_USER --pwfile=<(echo $POSTGRES_PASSWORD) $POSTGRES_INITDB_ARGS"
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
fi
[ "${1:0:1}" = - ] || shift
exec postgres "$@"
