# Images of PostgreSQL, as Debian has it, and of the Go program of the workload random-row, for test.sh, which reads this.
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
version=$(basename "$(dirname "$bin")")
database=$work/postgres
rm -rf "$database"
mkdir -p "$database"/{etc,bin,usr/bin,usr/local/bin,usr/lib/locale,usr/lib/postgresql,usr/share/postgresql,var/lib/postgresql,var/run/postgresql,docker-entrypoint-initdb.d,tmp}
chmod 1777 "$database"/{var/lib/postgresql,var/run/postgresql,tmp}
echo "postgres:x:10002:10002::/var/lib/postgresql:/bin/bash" > "$database/etc/passwd"
cp -a "$(dirname "$bin")" "$database/usr/lib/postgresql/"
cp -a "/usr/share/postgresql/$version" /usr/share/zoneinfo "$database/usr/share/postgresql/"
mv "$database/usr/share/postgresql/zoneinfo" "$database/usr/share/zoneinfo"
cp -a /usr/lib/locale/C.utf8 "$database/usr/lib/locale/"
# As the Dockerfile of its makers' image does.
sed -ri "s!^#?(listen_addresses)\s*=\s*\S+.*!\1 = '*'!" "$database/usr/share/postgresql/$version/postgresql.conf.sample"
for program in bash env mkdir chmod chown id find cat ls; do
    cp -L "$(command -v $program)" "$database/usr/local/bin/"
done
for program in postgres initdb psql pg_ctl; do
    cp -L "$bin/$program" "$database/usr/local/bin/"
    # It looks for its files from where it is.
    ln -sf "../../lib/postgresql/$version/bin/$program" "$database/usr/local/bin/$program"
done
ln -s ../usr/local/bin/bash "$database/bin/bash"
ln -s ../usr/local/bin/bash "$database/bin/sh"
# Its compiler would need all of LLVM.
rm -rf "$database/usr/lib/postgresql/$version/lib/"{bitcode,llvmjit*}
ln -s ../local/bin/env "$database/usr/bin/env"
mkdir -p "$work/entrypoint"
install "${POSTGRES_ENTRYPOINT:-tests/cluster/postgres.sh}" "$work/entrypoint/docker-entrypoint.sh"
RUN_AS=10002 ENVIRONMENT=PGDATA=/var/lib/postgresql/data \
    tests/cluster/image.sh "$work/entrypoint/docker-entrypoint.sh" "localhost/postgres:$version" "$work/postgres.tar" "$database" postgres
images+=("$work/postgres.tar")
(cd workloads/random-row/app/go && go build -o "$work/row" .)
for framework in net-http gin; do
    ENVIRONMENT="FRAMEWORK=$framework
LISTEN=0.0.0.0:8080" tests/cluster/image.sh "$work/row" "localhost/row-$framework:1" "$work/row-$framework.tar"
    images+=("$work/row-$framework.tar")
done
