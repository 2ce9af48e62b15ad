#!/bin/bash
# boot.sh SCRATCH IODYNO UNIT GROUP: starts systemd with this unit and what it needs, and nothing else, on a copy of this
# system's files that is forgotten afterwards. Only as the first process of namespaces of its own: mounts, PIDs, network,
# IPC, host name, control groups.
set -eu
[ $$ = 1 ] || { echo "boot.sh: not in namespaces of its own" >&2; exit 1; }
scratch=$1 root=$1/root
mount --make-rprivate /
mount -t tmpfs none "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
mount -t proc proc "$root/proc"
# systemd would raise limits that belong to the whole machine.
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount --bind /sys "$root/sys"
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
# Of each hierarchy the control group that this was started in (enter.sh), as if there were no others.
while read -r _ point kind _; do
  case $kind in cgroup | cgroup2) ;; *) continue ;; esac
  case $point in "$root"/*) mount --bind "${point#"$root"}/$4" "$point" ;; esac
done <<<"$(cat /proc/self/mounts)"
# No watchdog, no disks.
mount -t tmpfs -o mode=755 none "$root/dev"
for device in null zero full random urandom tty kmsg; do
  [ -e /dev/$device ] || continue
  : >"$root/dev/$device"
  mount --bind /dev/$device "$root/dev/$device"
done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs none "$root/run"
mount -t tmpfs -o mode=1777 none "$root/tmp"
for file in "$2" "$3"; do
  : >"$root/run/${file##*/}"
  mount --bind "$file" "$root/run/${file##*/}"
done
# Inside, so that no symbolic link leads out of the copy. Not what else this system would start: it would set the kernel's
# parameters, and look after its devices.
chroot "$root" /bin/bash -euc '
  install -m 755 "/run/$0" /usr/bin/iodyno
  install -m 644 "/run/$1" /etc/systemd/system/iodyno-record.service
  rm -rf /var/lib/iodyno /lib/systemd/system/*.target.wants /etc/systemd/system/*.target.wants
  rm -f /etc/systemd/system.conf
  : >/etc/fstab' "${2##*/}" "${3##*/}"
exec chroot "$root" env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --unit=iodyno-record.service --log-target=console
