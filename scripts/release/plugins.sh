#!/usr/bin/env bash
# Runs the tests of the example packages for Vitest and pytest as their users would: each in a directory of its
# own, with the packed tarball. Usage: scripts/release/plugins.sh TARBALL
set -euo pipefail
tarball=$(realpath "$1")
examples=$(realpath "$(dirname "$0")/../../examples")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -r "$examples/vitest-waybill" "$examples/pytest-waybill" "$place"
cd "$place/vitest-waybill"
npm install --no-audit --no-fund --no-save --loglevel=error "$tarball"
npm test
cd "$place/pytest-waybill"
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet '.[test]'
PATH="$place/vitest-waybill/node_modules/.bin:$PATH" "$place/venv/bin/python" -m pytest -q -n 4
