#!/usr/bin/env bash
# Traces drivers that this machine does not have, in QEMU: NVMe, SCSI that gives requests back (requeues) or fails them, device mapper, md, a
# zoned device. Each line says how many I/Os were made and how many were rows, and fails the script where they differ.
#
#   bench/drivers.sh IODYNO KERNEL.deb    a package of Debian's linux-image-*-amd64-unsigned (not the cloud one, which lacks scsi_debug)
#
# Needs qemu-system-x86, busybox-static, cpio, dmsetup, mdadm and util-linux (apt); QEMU_ACCEL="kvm -cpu host" where KVM works.
set -euo pipefail
. "$(dirname "$0")/boot.sh"

init=$(cat <<'INIT'
for module in virtio_pci virtio_blk nvme dm-mod dm-delay md-mod raid1 brd; do modprobe $module 2>/dev/null; done
modprobe scsi_debug dev_size_mb=64 delay=0 ndelay=20000 opts=0x8000 every_nth=7 max_queue=4
modprobe sd_mod
modprobe null_blk nr_devices=1 gb=1 zoned=1 zone_size=4 zone_nr_conv=0
sleep 2
cd /tmp
echo "KERNEL $(uname -r)"

# begin NAME [PROGRAM]: a trace of the device, of what a program does, dd if nothing is said.
begin() {
  # Whoever opens a device first reads its partition table.
  dd if=/dev/$1 of=/dev/null bs=4k count=1 2>/dev/null
  rm -rf $1.t
  iodyno trace -d $1 --comm ${2:-dd} -o $1.t --no-files > $1.out 2>&1 & tracer=$!
  n=0; while ! grep -q tracing $1.out && [ $n -lt 200 ]; do sleep 0.1; n=$((n+1)); done
}
# finish NAME EXPECTED [REQUEUED [FAILED]]: the rows that there should be; how many at least were given back, how many failed.
finish() {
  kill -INT $tracer; wait $tracer; code=$?
  iodyno export $1.t io --csv > $1.csv 2>&1
  rows=$(($(wc -l < $1.csv) - 1))
  # Device, operation, requeues and error are the columns 4, 5, 19 and 17.
  requeued=$(awk -F, 'NR>1 && $19>0 {n++} END {print n+0}' $1.csv)
  failed=$(awk -F, 'NR>1 && $17!="" {n++} END {print n+0}' $1.csv)
  verdict=ok; [ $rows = $2 ] && [ $code = 0 ] && [ $requeued -ge ${3:-0} ] && [ $failed = ${4:-0} ] || { verdict=WRONG; cat $1.out; head -3 $1.csv; }
  echo "DRIVER $1: $rows rows of $2 I/Os, exit $code, $requeued requeued, $failed failed, $(awk -F, 'NR>1 {n[$5]++} END {for (op in n) printf "%s %d ", op, n[op]}' $1.csv): $verdict"
}
both() {
  begin $1
  dd if=/dev/$1 of=/dev/null bs=4k count=200 iflag=direct 2>/dev/null
  dd if=/dev/zero of=/dev/$1 bs=8k count=100 oflag=direct 2>/dev/null
  finish $1 300
}
both vda
both nvme0n1
sd=$(basename /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/*)
# Eight at once, so that requests come back while others are under way.
begin $sd
for part in 0 1 2 3 4 5 6 7; do dd if=/dev/$sd of=/dev/null bs=4k skip=$((part * 1000)) count=200 iflag=direct 2>/dev/null & readers="$readers $!"; done
wait $readers
# Each seventh command is refused: one in six I/Os.
finish $sd 1600 250
echo 0 > /sys/bus/pseudo/drivers/scsi_debug/every_nth
# Every read of the ten sectors from 0x1234 on fails.
echo 2 > /sys/bus/pseudo/drivers/scsi_debug/opts
begin $sd
dd if=/dev/$sd of=/dev/null bs=4k skip=$((0x1234 / 8)) count=1 iflag=direct 2>/dev/null
dd if=/dev/$sd of=/dev/null bs=4k count=10 iflag=direct 2>/dev/null
finish $sd 11 0 1
dmsetup create linear --table "0 65536 linear /dev/nvme0n1 0"
dmsetup create delay --table "0 65536 delay /dev/nvme0n1 65536 3"
both dm-0
both dm-1
# Percentiles of what delays each I/O, and of what it lies on.
iodyno stat disk --percentiles -i dm-1,nvme0n1 --json -o stat.t 10 1 > stat.out 2>&1 & stat=$!
n=0; while ! [ -e stat.t/manifest.json ] && [ $n -lt 200 ]; do sleep 0.1; n=$((n+1)); done
sleep 1
dd if=/dev/dm-1 of=/dev/null bs=4k count=200 iflag=direct 2>/dev/null
wait $stat
p50() { sed -n "s/.*\"name\":\"$1\".*\"read_p50_ms\":\([0-9.]*\).*/\1/p" stat.out; }
upper=$(p50 dm-1) lower=$(p50 nvme0n1)
# In steps of the tick, of which the first may be short.
awk "BEGIN {exit !(${lower:-0} > 0 && ${upper:-0} > $lower + 1)}" && verdict=ok || { verdict=WRONG; cat stat.out; }
echo "DRIVER dm-1: reads took ${upper:-?} ms (p50), those of nvme0n1 ${lower:-?} ms: $verdict"
mdadm --create /dev/md0 --level=1 --raid-devices=2 --metadata=1.2 --assume-clean --run /dev/ram0 /dev/ram1 > md.out 2>&1 || cat md.out
both md0
begin nullb0 blkzone
blkzone reset /dev/nullb0; blkzone open -c 2 /dev/nullb0; blkzone finish -c 1 /dev/nullb0; blkzone close -o 8192 -c 1 /dev/nullb0
# Opening two zones is two I/Os.
finish nullb0 5
INIT
)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
truncate -s 64M "$work/nvme"
boot "$(realpath "$1")" "$2" "$init" "drivers/block drivers/virtio drivers/nvme drivers/md drivers/scsi drivers/dax fs/configfs lib/ crypto/ block/ arch/x86/crypto" "dmsetup mdadm blkzone" \
  -drive "file=$work/nvme,if=none,id=nvme,format=raw,cache=unsafe" -device nvme,drive=nvme,serial=1 | tee "$work/out"
grep -q DRIVER "$work/out" && ! grep -q WRONG "$work/out"
