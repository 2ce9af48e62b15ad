#!/usr/bin/env bash
# All benches; their notes and a dated table are in docs/performance.md.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-${CARGO_TARGET_DIR:-target}/release/iodyno}
exec python3 bench/peers.py "$bin" "$@"
