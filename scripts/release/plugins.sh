#!/usr/bin/env bash
# Runs the tests of the example packages for Vitest, Jest and pytest as their users would: each in a separate
# directory, with the packed tarball. Usage: scripts/release/plugins.sh TARBALL
set -euo pipefail
tarball=$(realpath "$1")
examples=$(realpath "$(dirname "$0")/../../examples")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -r "$examples/waybill-testing" "$examples/pytest-waybill" "$place"
cd "$place/waybill-testing"
npm install --no-audit --no-fund --no-save --loglevel=error "$tarball"
npm test
cd "$place/pytest-waybill"
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet '.[test]'
PATH="$place/waybill-testing/node_modules/.bin:$PATH" "$place/venv/bin/python" -m pytest -q -n 4
