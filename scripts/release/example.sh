#!/usr/bin/env bash
# Runs the example project as its reader would: in a separate directory, with the packed tarball instead of this tree.
# Needs an engine with the image on it. Usage: scripts/release/example.sh TARBALL
set -euo pipefail
tarball=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp "$(dirname "$0")"/../../examples/testcontainers/* "$place"
cd "$place"
npm install --no-audit --no-fund --loglevel=error "$tarball"
npm test
