#!/bin/bash
# boot.sh SCRATCH IODYNO UNIT: starts systemd with this unit and what it needs, and nothing else, on a copy of this
# system's files that is forgotten afterwards. To be run in PID, mount and cgroup namespaces of its own.
set -eu
scratch=$1 root=$1/root
mount --make-rprivate /
mount -t tmpfs none "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
mount --bind /sys "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs none "$root/run"
mount -t tmpfs -o mode=1777 none "$root/tmp"
mount -t proc proc "$root/proc"
install -m 755 "$2" "$root/usr/bin/iodyno"
install -m 644 "$3" "$root/etc/systemd/system/iodyno-record.service"
rm -rf "$root/var/lib/iodyno"
# Not what else this system would start: it would set the kernel's parameters, and look after its devices.
rm -rf "$root"/{lib,etc}/systemd/system/*.target.wants
exec chroot "$root" env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --unit=iodyno-record.service --log-target=console
