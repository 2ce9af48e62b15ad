#!/usr/bin/env bash
# How often `compare` is wrong, and what it finds: simulated (docs/compare.md has the table), then on real equal pairs.
#
#   bench/compare.sh CALIBRATE [--quick] [--seed N] [--only SHAPE] [--rounds-only]
set -euo pipefail
calibrate=$1; shift
"$calibrate" "$@"
