#!/usr/bin/env bash
# Builds the image waybill:VERSION on node:24-bookworm-slim, or on a stand-in made here where that cannot be pulled.
# BASE_IMAGE names another base. NODE_EXTRA_CA_CERTS, where the network needs it, is lent to the build as a secret.
set -euo pipefail
cd "$(dirname "$0")/../.."

base=${BASE_IMAGE:-node:24-bookworm-slim}
if ! docker image inspect "$base" >/dev/null 2>&1 && ! timeout 120 docker pull --quiet "$base"; then
  base=waybill-base:local
  docker image inspect "$base" >/dev/null 2>&1 || scripts/release/base-image.sh "$base"
fi

# Secrets need BuildKit. A client without buildx has none of its own; Debian's speaks to the engine's.
client=docker
if ! docker buildx version >/dev/null 2>&1 && [ -x /usr/bin/docker ]; then client=/usr/bin/docker; fi
DOCKER_BUILDKIT=1 "$client" build --quiet --build-arg "BASE_IMAGE=$base" \
  ${NODE_EXTRA_CA_CERTS:+--secret "id=ca,src=$NODE_EXTRA_CA_CERTS"} \
  --tag "waybill:$(node -p "require('./package.json').version")" "$@" .
