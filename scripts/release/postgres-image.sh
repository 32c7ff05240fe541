#!/usr/bin/env bash
# Prints the name of a PostgreSQL image for the container tests: postgres:17, as in compose.fleet.yaml, or a replacement
# made here if it cannot be pulled: Debian's PostgreSQL with the same variables. POSTGRES_IMAGE names another image.
set -euo pipefail
image=${POSTGRES_IMAGE:-postgres:17}
if docker image inspect "$image" >/dev/null 2>&1 || timeout 120 docker pull --quiet "$image" >/dev/null; then
  echo "$image"
  exit
fi
name=waybill-postgres:local
if docker image inspect "$name" >/dev/null 2>&1; then
  echo "$name"
  exit
fi
command -v debootstrap >/dev/null || { echo "postgres-image: needs debootstrap; apt-get install debootstrap" >&2; exit 1; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

debootstrap --variant=minbase --include=postgresql-15 bookworm "$root" >/dev/null
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/lib/postgresql/15
cat >"$root/start" <<'START'
#!/bin/sh
set -eu
: "${POSTGRES_PASSWORD:?is not set}" "${POSTGRES_USER:=postgres}" "${POSTGRES_DB:=$POSTGRES_USER}"
bin=/usr/lib/postgresql/15/bin
data=/var/lib/postgresql/data
if [ ! -s "$data/PG_VERSION" ]; then
  (umask 077 && printf %s "$POSTGRES_PASSWORD" >/tmp/password)
  "$bin/initdb" -D "$data" -U "$POSTGRES_USER" -A scram-sha-256 --pwfile=/tmp/password -E UTF8 --locale=C
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  [ "$POSTGRES_DB" = postgres ] || echo "CREATE DATABASE \"$POSTGRES_DB\"" | "$bin/postgres" --single -D "$data" postgres
fi
exec "$bin/postgres" -D "$data" -c listen_addresses='*'
START
chmod 755 "$root/start"
tar -C "$root" -c . | docker import --change 'USER postgres' --change 'ENTRYPOINT ["/start"]' - "$name" >/dev/null
echo "$name"
