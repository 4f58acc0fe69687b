# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Job for a test kernel: mounts the root directory of the host, which is the 9p share "root", changes
# its root directory to this mount, and runs the bash script KMARKERS_HOST_JOB there. An overlay
# stores all changes of files in a tmpfs. The 9p share "output" is mounted at KMARKERS_HOST_OUTPUT.
# /host has the kernel modules for these mounts and for KVM; /host/order lists the modules in load
# order.

new=/new
options=trans=virtio,version=9p2000.L,msize=512000

# fail STEP: print the step that failed, and end the job
fail() {
	echo "host: $1 failed"
	exit 1
}

while read -r module; do
	insmod "/host/$module" || echo "host: module $module cannot be loaded"
done </host/order

mkdir -p /lower /changes $new
mount -t 9p -o $options,cache=loose,ro root /lower || fail "mounting the root directory over 9p"
mount -t tmpfs tmpfs /changes && mkdir /changes/upper /changes/work
mount -t overlay -o lowerdir=/lower,upperdir=/changes/upper,workdir=/changes/work overlay $new ||
	fail "mounting an overlay of the root directory"
mkdir -p "$new$KMARKERS_HOST_OUTPUT"
mount -t 9p -o $options output "$new$KMARKERS_HOST_OUTPUT" || fail "mounting the output folder"

mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
ln -s /proc/self/fd /dev/fd
ip link set lo up
for folder in proc sys dev; do
	mount -o rbind /$folder $new/$folder || fail "mounting /$folder"
done
mount -t tmpfs tmpfs $new/run

# Add programs that load modules, because this machine may have none.
mkdir $new/run/programs
for program in insmod rmmod; do
	cp /bin/busybox $new/run/programs/$program
done

unset KMARKERS_TIER KMARKERS_KERNEL
export HOME=/root LANG=C.UTF-8
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/programs
# shellcheck disable=SC2016 # the inner shell expands the variables
/bin/busybox chroot $new /bin/bash -c 'cd "$KMARKERS_HOST_FOLDER" && exec bash "$KMARKERS_HOST_JOB"'
