#!/usr/bin/env bash
# All benches; docs/performance.md has the results, docs/notes/performance.md the notes.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-${CARGO_TARGET_DIR:-target}/release/iodyno}
exec python3 bench/peers.py "$bin" "$@"
