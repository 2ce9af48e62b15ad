#!/usr/bin/env bash
# The main job on a scratch file of this machine: a small OLTP-like load at full speed, then a curve of rates, then the report.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-target/release/iodyno}
dir=${DEMO_DIR:-demo}
mkdir -p "$dir"
stamp=$(date +%Y-%m-%dT%H-%M-%S)
scratch="$dir/scratch-$stamp.dat"
trap 'rm -f "$scratch"' EXIT
# Past the page cache where the file system can: a demo of the cache would show nothing of storage.
flags="openflags=o_direct,"
case "$(stat -f -c %T "$dir")" in tmpfs | ramfs | overlayfs | fuseblk) flags="" ;; esac
cat >"$dir/demo-$stamp.vdb" <<EOF
* An OLTP-like mix: small random I/O beside a log that is written in order; a curve from 10 % to the most that this machine gives.
sd=data,lun=\$file,size=1g,${flags}threads=16
wd=oltp,sd=data,xfersize=(4k,30,8k,70),rdpct=70,skew=90
wd=log,sd=data,xfersize=16k,rdpct=0,seekpct=0,range=(90,100),skew=10
rd=curve,wd=*,iorate=curve,curve=(25,50,75,90),warmup=1,elapsed=5,interval=1
EOF
"$bin" run "$dir/demo-$stamp.vdb" "file=$(realpath -m "$scratch")" -o "$dir/recording-$stamp"
echo
echo "The report:    $(realpath "$dir")/recording-$stamp/report.html"
echo "Try as well:   $bin chart $dir/recording-$stamp --list"
echo "               $bin export $dir/recording-$stamp run_total --csv"
