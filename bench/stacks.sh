#!/usr/bin/env bash
# What devices stand on, on a kernel that has device mapper and md, in QEMU: a load on a device that overlaps one in use must be refused, a load
# beside it must run, and what is not the load's must stay as it was. Each line is a case; the script fails where one is WRONG.
#
#   bench/stacks.sh IODYNO KERNEL.deb    a package of Debian's linux-image-*-amd64-unsigned
#
# An emulated CPU takes a quarter of an hour. Needs qemu-system-x86, busybox-static, cpio, dmsetup, mdadm, e2fsprogs and util-linux (apt); QEMU_ACCEL="kvm -cpu host" where KVM works.
set -euo pipefail
. "$(dirname "$0")/boot.sh"

init=$(cat <<'INIT'
for module in loop dm-mod dm-crypt dm-snapshot dm-thin-pool dm-mirror md-mod raid1 raid0 ext4; do modprobe $module 2>/dev/null; done
export DM_DISABLE_UDEV=1 IODYNO_STATE_DIR=/tmp/state
ip link set lo up 2>/dev/null
cd /tmp
echo "KERNEL $(uname -r)"

# disk N: /dev/loopN over 192 MiB of zeroes, file /tmp/N.
disk() { truncate -s 192M $1; losetup /dev/loop$1 $1; }
# table NAME LINE: a device of device mapper.
table() { echo "$2" | dmsetup create --noudevsync $1; dmsetup mknodes $1; }
# load TARGET: a load of 200 writes.
load() {
  rm -rf r
  timeout 100 iodyno run --name j --filename $1 --rw randwrite --bs 4k --number-ios 200 --no-report --no-counters -o r >out 2>&1
}
# refused NAME TARGET FILE...: the load is refused, and the files are as they were.
refused() {
  name=$1; target=$2; shift 2
  sync; before=$(cat "$@" | sha256sum)
  load $target; code=$?
  sync; after=$(cat "$@" | sha256sum)
  verdict=ok; [ $code = 7 ] && [ "$before" = "$after" ] || { verdict=WRONG; cat out; }
  echo "STACK $name: exit $code, $(head -c 130 out | head -1): $verdict"
}
# allowed NAME TARGET OTHER...: the load runs, and the other devices or files are as they were.
allowed() {
  name=$1; target=$2; shift 2
  sync; before=$(cat "$@" | sha256sum)
  load $target; code=$?
  sync; after=$(cat "$@" | sha256sum)
  verdict=ok; [ $code = 0 ] && [ "$before" = "$after" ] || { verdict=WRONG; cat out; }
  echo "STACK $name: exit $code: $verdict"
}

# Two volumes on one disk, the first with a file system.
disk 0
table a "0 131072 linear /dev/loop0 0"
table b "0 131072 linear /dev/loop0 131072"
table over "0 131072 linear /dev/loop0 65536"
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/a; mount /dev/mapper/a /mnt; echo kept > /mnt/kept; sync
refused "the disk below a mounted volume" /dev/loop0 0
refused "a volume that overlaps a mounted one" /dev/mapper/over 0
allowed "a volume beside a mounted one" /dev/mapper/b /dev/mapper/a
refused "a mounted volume" /dev/mapper/a 0
umount /mnt
refused "a file system on a volume" /dev/mapper/a 0
refused "a file system in a volume below" /dev/loop0 0
mknod /tmp/other b $(dmsetup info -c --noheadings --separator ' ' -o major,minor a)
refused "a volume by another node" /tmp/other 0
dmsetup remove over; dmsetup remove b
dd if=/dev/zero of=/dev/mapper/a bs=1M count=2 conv=notrunc 2>/dev/null; sync
refused "a file system whose beginning is gone" /dev/mapper/a 0
dmsetup remove a
refused "the disk when its volumes are gone" /dev/loop0 0

# Striped over two disks, encrypted on top.
disk 1; disk 2
table striped "0 262144 striped 2 128 /dev/loop1 0 /dev/loop2 0"
table secret "0 262144 crypt aes-xts-plain64 $(printf 'ab%.0s' $(seq 64)) 0 /dev/mapper/striped 0"
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/secret; mount /dev/mapper/secret /mnt
for below in /dev/loop1 /dev/loop2 /dev/mapper/striped /dev/mapper/secret; do refused "below an encrypted file system: $below" $below 1 2; done
umount /mnt; dmsetup remove secret
for below in /dev/loop1 /dev/mapper/striped; do refused "what was encrypted: $below" $below 1 2; done
dmsetup remove striped

# A snapshot: what its origin stands on, and its own store.
disk 3; disk 4
table origin "0 131072 snapshot-origin /dev/loop3"
table snap "0 131072 snapshot /dev/loop3 /dev/loop4 P 8"
refused "the store of a snapshot" /dev/loop4 3 4
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/snap; mount /dev/mapper/snap /mnt
refused "the origin of a mounted snapshot" /dev/loop3 3 4
umount /mnt; dmsetup remove snap; dmsetup remove origin

# Thin volumes.
disk 5; disk 6
table pool "0 393216 thin-pool /dev/loop5 /dev/loop6 128 0"
dmsetup message pool 0 "create_thin 0"; dmsetup message pool 0 "create_thin 1"
table thin0 "0 131072 thin /dev/mapper/pool 0"
table thin1 "0 131072 thin /dev/mapper/pool 1"
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/thin0; mount /dev/mapper/thin0 /mnt; echo kept > /mnt/kept; sync
refused "the data of a thin pool" /dev/loop6 5 6
refused "the metadata of a thin pool" /dev/loop5 5 6
refused "a thin pool" /dev/mapper/pool 5 6
allowed "a thin volume beside a mounted one" /dev/mapper/thin1 /dev/mapper/thin0
umount /mnt; dmsetup remove thin0; dmsetup remove thin1; dmsetup remove pool

# md.
disk 7; disk 8
mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.2 --assume-clean /dev/loop7 /dev/loop8 >/dev/null 2>&1
refused "a leg of a mirror" /dev/loop7 7 8
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/md0; mount /dev/md0 /mnt
refused "a leg of a mounted mirror" /dev/loop8 7 8
refused "a mounted mirror" /dev/md0 7 8
umount /mnt; mdadm --stop /dev/md0 >/dev/null 2>&1
refused "a leg of a mirror that was stopped" /dev/loop7 7 8
disk 9; disk 10
mdadm --create /dev/md1 --run --level=1 --raid-devices=2 --metadata=1.0 --assume-clean /dev/loop9 /dev/loop10 >/dev/null 2>&1
mdadm --stop /dev/md1 >/dev/null 2>&1
refused "a leg with its metadata at the end" /dev/loop9 9 10
disk 11; disk 12
mdadm --create /dev/md2 --run --level=1 --raid-devices=2 --metadata=1.2 --assume-clean /dev/loop11 /dev/loop12 >/dev/null 2>&1
allowed "an empty mirror" /dev/md2 10
echo "STACKS END"
INIT
)
out=$(BOOT_SECONDS=${BOOT_SECONDS:-1500} boot "$1" "$2" "$init" "drivers/md/ drivers/block/loop crypto/ fs/ext4 fs/jbd2 fs/mbcache lib/ arch/x86/crypto" "dmsetup mdadm mkfs.ext4 losetup")
echo "$out"
echo "$out" | grep -q "STACKS END" && ! echo "$out" | grep -q "WRONG"
