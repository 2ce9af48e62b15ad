#!/usr/bin/env bash
# Boots other kernels in QEMU and traces there: what loads, what is said to be missing, and whether every I/O is a row.
#
#   bench/kernels.sh IODYNO KERNEL.deb...    packages of Debian's linux-image-*-cloud-amd64-unsigned (apt-get download, or from the pool)
#
# Needs qemu-system-x86, busybox-static and cpio (apt), QEMU_ACCEL="kvm -cpu host" where KVM works. Prints a line per kernel.
set -euo pipefail
bin=$(realpath "$1")
shift
busybox=$(command -v busybox)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
accel=${QEMU_ACCEL:-tcg,thread=multi -cpu max}

for package in "$@"; do
  root=$work/root
  rm -rf "$root" "$work/deb"
  mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,etc,mnt,lib/modules} "$work/deb"
  dpkg-deb -x "$package" "$work/deb"
  version=$(basename "$work"/deb/boot/vmlinuz-* | sed s/vmlinuz-//)
  cp "$busybox" "$root/bin/busybox"
  cp "$bin" "$root/bin/iodyno"
  strip --strip-debug "$root/bin/iodyno"
  ldd "$bin" | grep -o '/[^ ]*' | while read -r library; do mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"; done
  modules=$(echo "$work"/deb/{usr/,}lib/modules/"$version" | tr ' ' '\n' | while read -r at; do [ -d "$at" ] && echo "$at"; done | head -1)
  mkdir -p "$root/lib/modules/$version"
  (cd "$modules" && find . \( -path '*drivers/block*' -o -path '*drivers/virtio*' -o -path '*fs/ext4*' -o -path '*fs/jbd2*' -o -path '*fs/mbcache*' -o -path '*lib/crc*' \
    -o -path '*crypto/*' -o -path '*mm/*' -o -path '*lib/lz*' -o -path '*lib/842*' \) -name '*.ko*' -exec cp --parents {} "$root/lib/modules/$version/" \;
    cp modules.order modules.builtin "$root/lib/modules/$version/")
  find "$root/lib/modules" -name '*.ko.xz' -exec xz -d {} + 2>/dev/null || true
  depmod -b "$root" "$version" 2>/dev/null || /sbin/depmod -b "$root" "$version"
  cat >"$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
for module in virtio_pci virtio_blk ext4 zram; do modprobe $module 2>/dev/null; done
sleep 1
cd /tmp
iodyno trace -d vda -o t --for 8s > out 2>&1 & tracer=$!
n=0; while ! grep -q tracing out && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done
dd if=/dev/vda of=/dev/null bs=64k count=100 iflag=direct 2>/dev/null
dd if=/dev/zero of=/dev/vda bs=4k count=50 oflag=direct 2>/dev/null
mke2fs -q /dev/vda >/dev/null 2>&1; mount -t ext2 /dev/vda /mnt 2>/dev/null && { dd if=/dev/zero of=/mnt/file bs=64k count=16 2>/dev/null; sync; umount /mnt; }
wait $tracer; code=$?
rows=$(iodyno export t io --csv 2>/dev/null | grep -c '"\?dd"\?')
owned=$(iodyno export t io --csv 2>/dev/null | grep -c '/mnt/file')
echo "KERNEL $(uname -r): trace exit $code, $rows I/Os of dd, $owned of its file"
cat out
if [ -e /dev/zram0 ]; then
  echo 64M > /sys/block/zram0/disksize
  dd if=/dev/urandom of=/dev/zram0 bs=1M count=64 2>/dev/null; sync
  iodyno trace -d zram0 -o z --for 3s > zout 2>&1 & tracer=$!
  n=0; while ! grep -q tracing zout && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done
  dd if=/dev/zram0 of=/dev/null bs=4k count=200 iflag=direct 2>/dev/null
  wait $tracer; code=$?
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
poweroff -f
INIT
  chmod +x "$root/init"
  (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd"
  truncate -s 64M "$work/disk"
  # shellcheck disable=SC2086
  timeout 200 qemu-system-x86_64 -accel $accel -m 2048 -smp 2 -nographic -no-reboot -kernel "$work"/deb/boot/vmlinuz-* -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1" -drive "file=$work/disk,if=virtio,format=raw,cache=unsafe" 2>&1 | tr -d '\r' | sed -n '/KERNEL/,$p'
done
