#!/bin/sh
# Installs LiteLLM, any-llm and LLM-Rosetta into a scratch directory, and asks each for the vectors of
# conformance/vectors/. Prints the wrong results and the counts. docs/vectors.md has the latest counts.
#   scripts/vectors/libraries.sh [SCRATCH]
scratch=${1:-${TMPDIR:-/tmp}/waybill-vectors}
cd "$(dirname "$0")/../.." || exit
ask() { # NAME PACKAGE…
  name=$1
  shift
  if [ ! -e "$scratch/$name/.installed" ]; then
    python3 -m venv "$scratch/$name" && "$scratch/$name/bin/pip" install --quiet "$@" && touch "$scratch/$name/.installed" ||
      { echo "$name cannot be installed; it is left out" >&2; return; }
  fi
  echo "== $name"
  python3 conformance/vectors/runners/run.py conformance/vectors -- "$scratch/$name/bin/python" scripts/vectors/libraries.py "$name" 2> "$scratch/$name.log"
}
ask litellm litellm==1.106.2
ask any-llm "any-llm-sdk[openai,anthropic,gemini]==1.13.0" "anthropic<1" "openai<3"
ask llm-rosetta llm-rosetta==0.13.0
