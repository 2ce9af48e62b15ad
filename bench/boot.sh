# Boots kernels of Debian's packages in QEMU, with iodyno in them; sourced by kernels.sh and drivers.sh.
#
# boot IODYNO PACKAGE.deb INIT MODULES PROGRAMS [QEMU OPTION...]
#   INIT      a shell script for the guest's busybox; what it prints from its first line with KERNEL on is printed
#   MODULES   patterns of paths below the kernel's modules, in one word
#   PROGRAMS  programs of this machine to take along, in one word
# QEMU_ACCEL="kvm -cpu host" where KVM works. The guest has a disk of 64 MiB, /dev/vda.

boot() {
  local bin=$1 package=$2 init=$3 patterns=$4 programs=$5 accel=${QEMU_ACCEL:-tcg,thread=multi -cpu max} work root version modules program
  shift 5
  work=$(mktemp -d)
  root=$work/root
  mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,etc,mnt,lib/modules} "$work/deb"
  dpkg-deb -x "$package" "$work/deb"
  version=$(basename "$work"/deb/boot/vmlinuz-* | sed s/vmlinuz-//)
  cp "$(command -v busybox)" "$root/bin/busybox"
  ln -s bin "$root/sbin" # where the kernel looks for modprobe
  cp "$bin" "$root/bin/iodyno"
  strip --strip-debug "$root/bin/iodyno"
  for program in $programs; do cp "$(command -v "$program")" "$root/bin/"; done
  for program in iodyno $programs; do
    ldd "$root/bin/$program" | grep -o '/[^ ]*' | while read -r library; do mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"; done
  done
  modules=$(echo "$work"/deb/{usr/,}lib/modules/"$version" | tr ' ' '\n' | while read -r at; do [ -d "$at" ] && echo "$at"; done | head -1)
  mkdir -p "$root/lib/modules/$version"
  (cd "$modules" && set -f && for pattern in $patterns; do find . -path "*$pattern*" -name '*.ko*' -exec cp --parents {} "$root/lib/modules/$version/" \;; done
    cp modules.order modules.builtin "$root/lib/modules/$version/")
  find "$root/lib/modules" -name '*.ko.xz' -exec xz -d {} + 2>/dev/null || true
  depmod -b "$root" "$version" 2>/dev/null || /sbin/depmod -b "$root" "$version"
  printf '%s\n' "#!/bin/busybox sh" "/bin/busybox --install -s /bin" "export PATH=/bin" \
    "mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp" >"$root/init"
  printf '%s\n' "$init" "poweroff -f" >>"$root/init"
  chmod +x "$root/init"
  (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd"
  truncate -s 64M "$work/disk"
  # shellcheck disable=SC2086
  timeout "${BOOT_SECONDS:-200}" qemu-system-x86_64 -accel $accel -m 2048 -smp 2 -nographic -no-reboot -kernel "$work"/deb/boot/vmlinuz-* -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1" -drive "file=$work/disk,if=virtio,format=raw,cache=unsafe" "$@" 2>&1 | tr -d '\r' | sed -n '/KERNEL/,$p' || true
  rm -rf "$work"
}
