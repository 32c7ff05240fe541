#!/usr/bin/env bash
# Makes a replacement for node:24-bookworm-slim on machines that cannot pull images: the same Debian, this project's
# Node, and npm. Needs root, debootstrap, a Debian mirror and an engine. Usage: scripts/release/base-image.sh [NAME]
set -euo pipefail
name=${1:-waybill-base:local}
command -v debootstrap >/dev/null || { echo "base-image: needs debootstrap; apt-get install debootstrap" >&2; exit 1; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

debootstrap --variant=minbase --include=ca-certificates,libstdc++6 bookworm "$root" >/dev/null
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*

install -m 755 "$(dirname "$0")/../../node_modules/node/bin/node" "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules"
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
cp -R "$npm" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"

tar -C "$root" -c . | docker import - "$name" >/dev/null
echo "$name"
