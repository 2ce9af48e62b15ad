#!/bin/bash
# Does a mirror heal itself, and is it found out when it cannot? With validated data, on btrfs (raid1 on two loop devices), as root:
#
#     examples/self-heal.sh [IODYNO] [DIRECTORY]
#
# 1. A file is written with stamps and proved. 2. Blocks of it are damaged on one leg. 3. The file system scrubs, and iodyno watches
# its counters (finding R12). 4. All of the file is verified: nothing may be wrong. 5. The control: the same blocks are damaged on
# both legs; now they must be found. Ends with 0 when both came out as they should. Everything is made in a new directory
# below DIRECTORY (/var/tmp) and removed at the end.
set -u
iodyno=$(readlink -f "${1:-target/release/iodyno}")
work=$(mktemp -d "${2:-/var/tmp}/self-heal.XXXXXX") || exit 1
mount=$work/mnt
legs=()

say() { printf '\n== %s\n' "$*"; }
fail() { echo "self-heal: $*" >&2; exit 1; }
clean() {
    mountpoint -q "$mount" && umount "$mount"
    for leg in "${legs[@]}"; do losetup -d "$leg"; done
    rm -f "$work"/leg-1 "$work"/leg-2 "$work"/a.vdb "$work"/watch
    rm -rf "$work"/run-1
    rmdir "$mount" "$work" 2>/dev/null
}
trap clean EXIT

[ "$(id -u)" = 0 ] || fail "needs root, for loop devices and mounts"
[ -x "$iodyno" ] || fail "no program at ${1:-target/release/iodyno}: build it (make build), or name it"
for need in mkfs.btrfs btrfs losetup; do
    command -v $need >/dev/null || { echo "self-heal: SKIPPED: $need is not installed (btrfs-progs)"; exit 0; }
done
mkdir -p "$mount"
for number in 1 2; do
    truncate -s 300m "$work/leg-$number"
    legs+=("$(losetup --find --show "$work/leg-$number")") || fail "no loop device"
done
mkfs.btrfs -q -d raid1 -m raid1 "${legs[@]}" >/dev/null || fail "mkfs.btrfs failed"
mounted() { btrfs device scan "${legs[@]}" >/dev/null; mount -o "device=${legs[1]}" "${legs[0]}" "$mount" || fail "mount failed"; }
mounted

say "1. data that can be proved"
cat > "$work/a.vdb" <<V
sd=sd1,lun=$mount/file,size=64m,threads=8
wd=wd1,sd=sd1,xfersize=4k,rdpct=0,seekpct=random
rd=rd1,wd=wd1,iorate=max,elapsed=3,interval=1
V
"$iodyno" run "$work/a.vdb" --verify --no-report --no-counters -o "$work/run-1" >/dev/null
code=$?
case $code in
0) ;;
4) fail "the data was wrong before any damage" ;;
130) fail "interrupted before any damage" ;;
*) fail "the data could not be written and proved: iodyno run ended with $code" ;;
esac

# Blocks that are damaged, by their place in the file.
places=(0x100000 0x204000 0x73d000 0x1000000 0x1f00000 0x2a5b000 0x3fff000)
damage() { # LEG
    local at=()
    for place in "${places[@]}"; do at+=(--at "$place"); done
    "$iodyno" inject --kind bit_rot "$1" --as "$mount/file" --copies "${at[@]}" --destroy "$1" || fail "could not damage $1"
}
# What the file system itself has counted and could not mend.
counters() { btrfs device stats "$mount" | grep corruption; }

say "2. ${#places[@]} blocks are damaged on ${legs[1]}"
umount "$mount"
damage "${legs[1]}"
mounted

say "3. the file system scrubs, iodyno watches its counters"
"$iodyno" diagnose --live 12s >"$work/watch" 2>/dev/null &
watching=$!
sleep 2
btrfs scrub start -B "$mount" | grep -E "Error|Corrected|Uncorrectable"
wait $watching
counters
grep -i -A4 "check sum" "$work/watch" || fail "the finding of wrong check sums (R12) is missing"

say "4. everything is verified"
"$iodyno" verify "$mount/file" --block 4k || fail "the mirror did not heal"

say "5. the control: the same blocks on both legs"
umount "$mount"
damage "${legs[0]}" >/dev/null
damage "${legs[1]}" >/dev/null
mounted
btrfs scrub start -B "$mount" | grep -E "Error|Corrected|Uncorrectable"
counters
"$iodyno" verify "$mount/file" --block 4k
code=$?
[ $code = 3 ] || [ $code = 4 ] || fail "${#places[@]} blocks are damaged on both legs, and verify ended with $code"
say "healed where it could, and noticed where it could not"
