#!/usr/bin/env bash
# The main job on a scratch file of this machine: a small OLTP-like load at full speed, then a curve of rates, then the report.
# As root, the loop from production to the lab as well: a load on one loop device is traced, the trace is played on another, at 1× and 2×,
# and a small parameter file is made that behaves like it.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-target/release/iodyno}
dir=${DEMO_DIR:-demo}
mkdir -p "$dir"
stamp=$(date +%Y-%m-%dT%H-%M-%S)
scratch="$dir/scratch-$stamp.dat"
source=""
target=""
clean() {
  for device in $source $target; do losetup -d "$device" || true; done
  rm -f "$scratch" "$scratch.source" "$scratch.target"
}
trap clean EXIT
# Past the page cache where the file system can: a demo of the cache would show nothing of storage.
flags="openflags=o_direct,"
case "$(stat -f -c %T "$dir")" in tmpfs | ramfs | overlayfs | fuseblk) flags="" ;; esac
cat >"$dir/demo-$stamp.vdb" <<EOF
* An OLTP-like mix: small random I/O beside a log that is written in order; a curve from 10 % to the most that this machine gives.
sd=data,lun=\$file,size=1g,${flags}threads=16
wd=oltp,sd=data,xfersize=(4k,30,8k,70),rdpct=70,skew=90
wd=log,sd=data,xfersize=16k,rdpct=0,seekpct=0,range=(90,100),skew=10
rd=curve,wd=*,iorate=curve,curve=(30,60,90),warmup=1,elapsed=3,interval=1
EOF
"$bin" run "$dir/demo-$stamp.vdb" "file=$(realpath -m "$scratch")" -o "$dir/recording-$stamp"
replays=""
if [ "$(id -u)" = 0 ] && command -v losetup >/dev/null; then
  echo
  echo "From production to the lab: a load on one disk is traced, and the trace is played on another"
  truncate -s 512m "$scratch.source" "$scratch.target"
  source=$(losetup -f --show "$scratch.source")
  target=$(losetup -f --show "$scratch.target")
  cat >"$dir/production-$stamp.vdb" <<EOF
sd=disk,lun=$source,openflags=o_direct,threads=16
wd=oltp,sd=disk,xfersize=(4k,30,8k,70),rdpct=70,skew=80
wd=log,sd=disk,xfersize=16k,rdpct=0,seekpct=0,skew=20
rd=production,wd=*,iorate=(400,2,2000,1),distribution=(exponential,variable),elapsed=6,interval=1
EOF
  # What a run reads to look for data that must not be lost comes in larger pieces, and is no load.
  coproc tracer { exec "$bin" trace -d "$(basename "$source")" --size 512-128k -o "$dir/trace-$stamp" 2>&1; }
  tracer_pid=$!
  read -r line <&"${tracer[0]}"
  echo "$line"
  exec 3<&"${tracer[0]}"
  "$bin" run "$dir/production-$stamp.vdb" -o "$dir/production-$stamp" --no-report
  kill -INT "$tracer_pid"
  cat <&3 | tail -4
  wait "$tracer_pid" || true
  for speed in 1 2; do
    "$bin" replay "$dir/trace-$stamp" --map "$(basename "$source")=$target" --speed $speed -o "$dir/replay-$speed-$stamp"
    replays="$replays\n               $(realpath "$dir")/replay-$speed-$stamp/report.html (at $speed×, beside the trace)"
  done
  echo
  echo "A small parameter file that behaves like the trace: how far it is from it, and how far the replay is"
  "$bin" model "$dir/trace-$stamp" -o "$dir/model-$stamp.vdb" --compare "$dir/replay-1-$stamp"
  "$bin" report "$dir/trace-$stamp"
  echo
  echo "The trace beside its replays"
  "$bin" compare "$dir/trace-$stamp" "$dir/replay-1-$stamp" "$dir/replay-2-$stamp" -o "$dir/comparison-$stamp.html"
else
  echo "(not root: the part with tracing and replaying was left out)"
fi
echo
echo "The report:    $(realpath "$dir")/recording-$stamp/report.html"
if [ -n "$replays" ]; then
  echo "The trace:     $(realpath "$dir")/trace-$stamp/report.html"
  echo -e "The replays:  ${replays#\\n              }"
  echo "Side by side:  $(realpath "$dir")/comparison-$stamp.html"
  echo "The model:     $(realpath "$dir")/model-$stamp.vdb (a load of $(wc -l <"$dir/model-$stamp.vdb") lines that behaves like the trace)"
fi
echo "Try as well:   $bin chart $dir/recording-$stamp --list"
echo "               $bin export $dir/recording-$stamp run_total --csv"
if [ -n "$replays" ]; then echo "               $bin run $dir/model-$stamp.vdb lun=FILE"; fi
