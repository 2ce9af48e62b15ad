#!/bin/bash
# enter.sh NAME PROGRAM [ARGUMENTS]: becomes a program in a control group of this name at the top of every hierarchy.
set -eu
name=$1
shift
while read -r _ point kind _; do
  # Not those that other tests mount elsewhere.
  case $kind:$point in cgroup:/sys/fs/cgroup/* | cgroup2:/sys/fs/cgroup | cgroup2:/sys/fs/cgroup/*) ;; *) continue ;; esac
  mkdir -p "$point/$name"
  # In version 1 a process cannot enter a group without CPUs and memory.
  if [ $kind = cgroup ] && [ -e "$point/cpuset.cpus" ]; then
    for file in cpuset.cpus cpuset.mems; do cat "$point/$file" >"$point/$name/$file"; done
  fi
  echo $$ >"$point/$name/cgroup.procs"
done </proc/self/mounts
exec "$@"
