#!/usr/bin/env bash
# The example project as its reader would run it: in a directory of its own, with the packed tarball, not this tree.
# Needs an engine with the image on it. Usage: scripts/release/example.sh TARBALL
set -euo pipefail
tarball=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp "$(dirname "$0")"/../../examples/testcontainers/* "$place"
cd "$place"
npm install --no-audit --no-fund --loglevel=error "$tarball"
npm test
