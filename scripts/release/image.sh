#!/usr/bin/env bash
# Builds the image waybill:VERSION on node:24-bookworm-slim, or on a replacement made here if it cannot be pulled.
# BASE_IMAGE names another base. NODE_EXTRA_CA_CERTS, if the network needs it, is passed to the build as a secret.
set -euo pipefail
cd "$(dirname "$0")/../.."

base=${BASE_IMAGE:-node:24-bookworm-slim}
if ! docker image inspect "$base" >/dev/null 2>&1 && ! timeout 120 docker pull --quiet "$base"; then
  base=waybill-base:local
  docker image inspect "$base" >/dev/null 2>&1 || scripts/release/base-image.sh "$base"
fi

# Secrets need BuildKit. A client without buildx has no BuildKit of its own; Debian's client uses the engine's.
client=docker
if ! docker buildx version >/dev/null 2>&1 && [ -x /usr/bin/docker ]; then client=/usr/bin/docker; fi
DOCKER_BUILDKIT=1 "$client" build --quiet --build-arg "BASE_IMAGE=$base" \
  ${NODE_EXTRA_CA_CERTS:+--secret "id=ca,src=$NODE_EXTRA_CA_CERTS"} \
  --tag "waybill:$(node -p "require('./package.json').version")" "$@" .
