#!/usr/bin/env bash
# The load of a storage system's acceptance test, small: 10,000 operations/s over a tree of files of 8 KiB to 4 MiB, in a control
# group with less memory than the tree has bytes, on a single and on a mirrored file system, while an rsync is timed at set
# moments and on the idle machine. As root; takes three minutes and 7 GiB of disk.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(realpath "${BIN:-target/release/iodyno}")
out=$(realpath -m "${DEMO_DIR:-demo}/amber-road-$(date +%Y-%m-%dT%H-%M-%S)")
elapsed=${ELAPSED:-60}
files=${FILES:-86}
rate=${RATE:-10000}
memory=${MEMORY:-512M}
[ "$(id -u)" = 0 ] || { echo "as root: it mounts file systems on loop devices" && exit 1; }
command -v rsync >/dev/null || { echo "install rsync" && exit 1; }
mkdir -p "$out"
group=/sys/fs/cgroup/iodyno-amber-road
devices=()
mounted=()
clean() {
  for at in "${mounted[@]}"; do umount "$at" || true; done
  for device in "${devices[@]}"; do losetup -d "$device" || true; done
  rm -f "$out"/*.disk
  rmdir "$group" 2>/dev/null || true
}
trap clean EXIT
disk() {
  truncate -s 3g "$out/$1.disk"
  losetup -f --show "$out/$1.disk"
}
# In the control group, so that the page cache of the load is limited.
limited() {
  mkdir -p "$group"
  echo "$memory" >"$group/memory.max"
  bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}
# A place, and an rsync from outside of the tree to beside it.
load() {
  local name=$1 at=$2
  mkdir -p "$at/test" "$at/copy"
  cat >"$out/$name.vdb" <<END
fsd=fsd1,anchor=$at/test,depth=2,width=8,files=$files,sizes=(8k,60,32k,25,512k,10,4m,5)
fwd=fwd1,fsd=fsd1,operation=read,skew=50,xfersize=8k,fileio=sequential,fileselect=random,threads=48
fwd=fwd2,fsd=fsd1,operation=read,skew=50,xfersize=8k,fileio=random,fileselect=random,threads=48
rd=format,fwd=(fwd1,fwd2),fwdrate=max,format=only,elapsed=1
rd=rd1,fwd=(fwd1,fwd2),fwdrate=$rate,format=no,elapsed=$elapsed,interval=1,at=($((elapsed / 4)),$((elapsed / 2)),$((elapsed * 3 / 4))),cmd="rsync -a --delete --ignore-times /usr/include/ $at/copy"
END
  limited "$bin" run "$out/$name.vdb" -o "$out/$name" || echo "iodyno ended with exit code $?"
}
single=$(disk single) && devices+=("$single")
mkfs.btrfs -q "$single"
mkdir -p "$out/single.mount" && mount "$single" "$out/single.mount" && mounted+=("$out/single.mount")
load single "$out/single.mount"
left=$(disk left) && devices+=("$left")
right=$(disk right) && devices+=("$right")
mkfs.btrfs -q -d raid1 -m raid1 "$left" "$right"
mkdir -p "$out/mirror.mount" && mount "$left" "$out/mirror.mount" && mounted+=("$out/mirror.mount")
load mirror "$out/mirror.mount"
echo
echo "The reports:   $out/single/report.html"
echo "               $out/mirror/report.html"
