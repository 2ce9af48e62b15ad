#!/usr/bin/env bash
# Boots other kernels in QEMU and traces there: what loads, what is said to be missing, and whether every I/O is a row.
#
#   bench/kernels.sh IODYNO KERNEL.deb...    packages of Debian's linux-image-*-cloud-amd64-unsigned (apt-get download, or from the pool)
#
# Needs qemu-system-x86, busybox-static and cpio (apt), QEMU_ACCEL="kvm -cpu host" where KVM works. Prints a line per kernel.
set -euo pipefail
. "$(dirname "$0")/boot.sh"
bin=$(realpath "$1")
shift

init=$(cat <<'INIT'
for module in virtio_pci virtio_blk ext4 zram; do modprobe $module 2>/dev/null; done
sleep 1
cd /tmp
iodyno trace -d vda -o t > out 2>&1 & tracer=$!
n=0; while ! grep -q tracing out && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done
dd if=/dev/vda of=/dev/null bs=64k count=100 iflag=direct 2>/dev/null
dd if=/dev/zero of=/dev/vda bs=4k count=50 oflag=direct 2>/dev/null
mke2fs -q /dev/vda >/dev/null 2>&1; mount -t ext2 /dev/vda /mnt 2>/dev/null && { dd if=/dev/zero of=/mnt/file bs=64k count=16 2>/dev/null; sync; sleep 1; umount /mnt; }
kill -INT $tracer; wait $tracer; code=$?
rows=$(iodyno export t io --csv 2>/dev/null | grep -c '"\?dd"\?')
owned=$(iodyno export t io --csv 2>/dev/null | grep -c '/mnt/file')
echo "KERNEL $(uname -r): trace exit $code, $rows I/Os of dd, $owned of its file"
cat out
if [ -e /dev/zram0 ]; then
  echo 64M > /sys/block/zram0/disksize
  dd if=/dev/urandom of=/dev/zram0 bs=1M count=64 2>/dev/null; sync
  iodyno trace -d zram0 -o z > zout 2>&1 & tracer=$!
  n=0; while ! grep -q tracing zout && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done
  dd if=/dev/zram0 of=/dev/null bs=4k count=200 iflag=direct 2>/dev/null
  kill -INT $tracer; wait $tracer; code=$?
  echo "KERNEL $(uname -r): zram exit $code, $(iodyno export z io --csv 2>/dev/null | grep -c zram0) I/Os"
fi
iodyno probe files 3s 1 --comm dd > files 2>&1 & probe=$!
n=0; while ! grep -q probing files && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done
dd if=/dev/zero of=/tmp/tmpfile bs=64k count=7 2>/dev/null
mount -t ext2 /dev/vda /mnt 2>/dev/null && dd if=/mnt/file of=/dev/null bs=64k 2>/dev/null
wait $probe; code=$?
echo "KERNEL $(uname -r): probe files exit $code"
cat files
taskset 1 sh -c 'while :; do :; done' & one=$!
taskset 1 sh -c 'while :; do :; done' & two=$!
iodyno probe cpu 3s 1 --cost > cpu 2>&1
echo "KERNEL $(uname -r): probe cpu exit $?"
cat cpu
kill $one $two
INIT
)

for package in "$@"; do
  boot "$bin" "$package" "$init" "drivers/block drivers/virtio fs/ext4 fs/jbd2 fs/mbcache lib/crc crypto/ mm/ lib/lz lib/842" ""
done
