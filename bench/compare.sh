#!/usr/bin/env bash
# How often `compare` is wrong, and what it finds: simulated, then on real pairs (docs/compare.md has the tables).
#
#   bench/compare.sh RELEASE [--real N] [--real-only] [--round SECONDS] [--quick] [--seed N] [--only SHAPE] [--rounds-only]
#
# RELEASE is the folder of the built programs. Real pairs are `iodyno ab` with four rounds: on a disk of a FUSE server that takes 5 ms for
# each read (± 0.5), the same with 5.25 ms on one side, and on a file at full speed. N pairs of each kind (6), rounds of 2 s; as root.
set -euo pipefail
release=$1; shift
pairs=6 seconds=2 simulate=yes rest=()
while (($#)); do
  case $1 in
    --real) pairs=$2; shift;;
    --round) seconds=$2; shift;;
    --real-only) simulate=;;
    *) rest+=("$1");;
  esac
  shift
done
if [ -n "$simulate" ]; then "$release/examples/calibrate_compare" "${rest[@]}"; fi
if [ "$pairs" = 0 ]; then exit; fi
if [ "$(id -u)" != 0 ]; then echo "real pairs are left out: they need root (a FUSE disk behind a loop device)"; exit; fi

work=$(mktemp -d -p "${TMPDIR:-/var/tmp}" compare-XXXXXX)
loop='' disk=''
clean() {
  [ -z "$loop" ] || losetup -d "$loop"
  [ -z "$disk" ] || { kill "$disk"; wait "$disk" || true; }
  rm -rf "$work"
}
trap clean EXIT
mkdir "$work/mnt"
"$release/faultfs" "$work/mnt" --size 64m >"$work/faultfs.log" 2>&1 & disk=$!
for _ in $(seq 100); do [ -e "$work/mnt/disk" ] && break; sleep 0.05; done
loop=$(losetup --direct-io=on -f --show "$work/mnt/disk")

cat >"$work/disk.vdb" <<FILE
startcmd="echo delay \$delay 500us read > $work/mnt/control"
sd=sd1,lun=$loop,openflags=o_direct,threads=8
wd=wd1,sd=sd1,xfersize=4k,rdpct=100
rd=rd1,wd=wd1,iorate=max,elapsed=30,interval=1
FILE
cat >"$work/file.vdb" <<FILE
sd=sd1,lun=$work/data,size=256m,openflags=o_direct,threads=8
wd=wd1,sd=sd1,xfersize=4k,rdpct=70
rd=rd1,wd=wd1,iorate=max,elapsed=30,interval=1
FILE
export IODYNO_STATE_DIR=$work/state
ab() { # NAME FILE [--a … --b …]
  local name=$1; shift
  "$release/iodyno" ab "$@" --rounds 4 -e "$seconds" -i 1 -o "$work/$name" --no-report --no-counters >"$work/$name.out" 2>&1 ||
    { cat "$work/$name.out"; exit 1; }
}
# Kinds take turns, so that a busy minute meets all of them.
for n in $(seq "$pairs"); do
  ab "equal-$n" "$work/disk.vdb" --a delay=5ms --b delay=5ms
  ab "slower-$n" "$work/disk.vdb" --a delay=5ms --b delay=5250us
  ab "file-$n" "$work/file.vdb" "$work/file.vdb"
done
echo
echo "Real pairs, called different: so many of the equal ones (greatest difference) · so many of those of which one is 5 % slower."
echo
echo "| 4 rounds of $seconds s, A B B A | rate | mean | p50 | p99 |"
echo "| --- | --- | --- | --- | --- |"
"$release/examples/real_pairs" "a disk that takes 5 ms" --equal "$work"/equal-*/ --slower "$work"/slower-*/
"$release/examples/real_pairs" "a file at full speed" --equal "$work"/file-*/
