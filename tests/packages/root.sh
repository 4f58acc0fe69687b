#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs as root in a bare Debian: installs, upgrades and removes the packages as their users do.
# /srv/packages holds the packages, /srv/next those of a later version, /srv/examples the examples.
# Prints KTAP. What the test kernel gets is left in /srv/modules, with the key that DKMS made; what a
# kernel gets that is installed later is left in /srv/modules-later.
#
# usage: root.sh VERSION NEXT
version=$1 next=$2
number=0
# From the installation to the first event is a matter of at most 3 minutes. A busy machine takes
# longer; the time for which its processors work stays about the same.
PROCESSOR_SECONDS=170

# result CODE NAME
result() {
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then echo "ok $number $2"; else echo "not ok $number $2"; fi
}

# try NAME COMMAND...
try() {
	name=$1
	shift
	"$@" >/tmp/said 2>&1
	code=$?
	[ $code = 0 ] || tail -n 15 /tmp/said /var/lib/dkms/kmarkers/*/build/make.log 2>/dev/null | sed 's/^/# /'
	result $code "$name"
}

# refused NAME PATTERN COMMAND...: passes if the command fails and prints a line that matches
refused() {
	name=$1 pattern=$2
	shift 2
	! "$@" >/tmp/said 2>&1 && grep -q "$pattern" /tmp/said
	code=$?
	[ $code = 0 ] || tail -n 15 /tmp/said | sed 's/^/# /'
	result $code "$name"
}

# same NAME GOT WANTED
same() {
	[ "$2" = "$3" ] || echo "# got '$2', wanted '$3'"
	[ "$2" = "$3" ]
	result $? "$1"
}

get() {
	apt-get -qq -y --no-install-recommends "$@"
}

# list_files: print every file that a package may leave. The key is DKMS's own, for all modules.
list_files() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /srv -o -path /run \
		-o -path /var/cache -o -path /var/log -o -path '/var/lib/dpkg/*-old' \
		-o -path /var/lib/apt/lists -o -path '/var/lib/dkms/mok.*' -o -name __pycache__ \) -prune -o -print | LC_ALL=C sort
}

# modules: print the modules that are installed
modules() {
	find "/lib/modules/$release/updates" -name 'kmarkers*.ko*' | sed 's|.*/||; s/\.ko.*//' | sort
}

# field NAME: print the values of a field of the modules, each value once
field() {
	find "/lib/modules/$release/updates" -name 'kmarkers*.ko*' -exec modinfo -F "$1" {} + | sort -u
}

# described: print the parameters that the modules describe, each behind its module
described() {
	modules | while read -r module; do
		modinfo -k "$release" -F parm "$module" | sed -n "s/^\([a-z_]*\):..*/$module \1/p"
	done
}

# started: print the files that load a module at boot, or give it parameters
started() {
	find /etc/modules-load.d /usr/lib/modules-load.d /lib/modules-load.d /etc/modprobe.d \
		/usr/lib/modprobe.d /lib/modprobe.d -name '*kmarkers*' 2>/dev/null
}

# state: print how dpkg sees the package of the modules
state() {
	dpkg-query -W -f '${db:Status-Abbrev}${Version}' kmarkers-dkms
}

# worked_between BEFORE AFTER: print the seconds that processors worked for programs of this script,
# according to the output of "times" before and after
worked_between() {
	cat "$1" "$2" | sed -n 's/[ms]/ /g; 2p; 4p' |
		awk '{ worked = $1 * 60 + $2 + $3 * 60 + $4 - worked } END { print int(worked) }'
}

# build DIRECTORY: build an outside client as its users do
build() {
	make -C "/lib/modules/$release/build" M="$1" \
		KMARKERS="$(pkg-config --variable=kmarkers kmarkers)" modules
}

# build_headers: build a module for each header of modules that the packages installed
build_headers() {
	objects='' headers=$(cd "$(pkg-config --variable=kmarkers kmarkers)/include" &&
		grep -L '#error "include <' kmarkers/*.h linux/*.h | grep -v /user.h) || return
	rm -rf /srv/each && mkdir /srv/each
	for header in $headers; do
		name=each_$(basename "$header" .h)_$(dirname "$header")
		objects="$objects $name.o"
		printf '#include <%s>\n#include <linux/module.h>\nMODULE_LICENSE("GPL");\n' "$header" >"/srv/each/$name.c"
	done
	# shellcheck disable=SC2016 # make's variable
	printf 'include $(KMARKERS)/kmarkers.mk\nobj-m :=%s\n' "$objects" >/srv/each/Kbuild
	[ "$(echo "$objects" | wc -w)" -gt 20 ] && build /srv/each
}

# build_examples: build the module of each example
build_examples() {
	for kbuild in /srv/examples/*/Kbuild; do
		rm -rf /srv/each
		cp -r "$(dirname "$kbuild")" /srv/each
		build /srv/each || return
	done
}

# deliver DIRECTORY: build a client, and leave what a test kernel gets there. Under Secure Boot a
# client must be signed, too.
deliver() {
	rm -rf /srv/client
	cp -r /srv/examples/client /srv/client
	try "an outside client for $release is built by pkg-config and the line of its Kbuild file" build /srv/client
	! grep -q "undefined\|WARNING" /tmp/said
	result $? "the build for $release has no warning"
	if grep -q "^CONFIG_MODVERSIONS=y" "/lib/modules/$release/build/.config"; then
		modprobe --dump-modversions /srv/client/example_client.ko >/tmp/versions
		grep -q patcher_ /tmp/versions || grep -q marker_ /tmp/versions
		result $? "the client for $release has symbol versions of the modules"
	fi
	try "a client for $release is signed with DKMS's key" "/lib/modules/$release/build/scripts/sign-file" \
		sha256 /var/lib/dkms/mok.key /var/lib/dkms/mok.pub /srv/client/example_client.ko
	mkdir -p "/lib/modules/$release/extra" "$1"
	cp /srv/client/example_client.ko "/lib/modules/$release/extra/"
	depmod "$release"
	cp -r "/lib/modules/$release/updates" "/lib/modules/$release/extra" "/lib/modules/$release"/modules.* "$1"
	cp /var/lib/dkms/mok.key /var/lib/dkms/mok.pub /var/lib/dpkg/info/kmarkers-dkms.prerm "$1"
	described >"$1/described"
	cp -r /usr/share/doc/kmarkers-dkms/examples "$1"
	echo "$release" >"$1/release"
	rm -r "/lib/modules/$release/extra"
	depmod "$release"
}

# deliver_later: leave modules of the later version beside those of this one
deliver_later() {
	mkdir -p /srv/modules/next
	cp "/lib/modules/$release/updates/dkms/kmarkers_immediate.ko"* \
		"/lib/modules/$release/updates/dkms/kmarkers_patcher.ko"* /srv/modules/next/
	if [ -e /srv/modules/next/kmarkers_immediate.ko.xz ]; then xz -d /srv/modules/next/*.xz; fi
}

# packages: print the packages that are installed
packages() {
	dpkg-query -W -f '${Package}\n'
}

# shellcheck disable=SC2016 # for the other shell
# fill: install the modules where DKMS has no room for a build. The mount vanishes with its namespace.
fill() {
	unshare --mount sh -e -c 'mount -t tmpfs -o size=4m tmpfs /var/lib/dkms
		exec apt-get -qq -y --no-install-recommends install "$1"' \
		fill "/srv/packages/kmarkers-dkms_${version}_all.deb"
}

export DEBIAN_FRONTEND=noninteractive
get update && get install dkms gcc make openssl kmod pkgconf libc6-dev mount python3-numpy patch \
	xz-utils || exit
echo "# uptime: tools are installed"

try "packages can be installed without headers of a kernel" get install /srv/packages/*.deb
grep -q "no module was built: headers of a kernel are missing" /tmp/said
result $? "a sentence says that headers are missing"
try "packages without a build can be purged" get purge kmarkers kmarkers-dev kmarkers-dkms

get install linux-headers-amd64 >/dev/null || exit
release=$(basename /lib/modules/*-amd64)
depmod "$release"
list_files >/tmp/before

refused "a disk that is full in the middle of a build is an error" "[Ee]rror\|No space" fill
same "no module is left by that" "$(modules)" ""
start=$(date +%s)
# In the shell itself: a subshell has no such children.
times >/tmp/before.times
try "the installation is finished when there is room" get install /srv/packages/*.deb
times >/tmp/after.times
worked=$(worked_between /tmp/before.times /tmp/after.times)
echo "# install: $(($(date +%s) - start)) s, in which processors worked $worked s"
[ "$worked" -gt 0 ] && [ "$worked" -le "$PROCESSOR_SECONDS" ]
result $? "processors work at most $PROCESSOR_SECONDS s to install"
grep -q "^kmarkers-dkms: [1-9][0-9]* of [1-9][0-9]* files are compiled$" /tmp/said
result $? "the installation says how many files are compiled"
try "nothing is half installed" test -z "$(dpkg --audit)"
wanted=$(sed -n 's/^BUILT_MODULE_NAME.*="\(.*\)"/\1/p' "/usr/src/kmarkers-$version/dkms.conf" | sort)
same "all modules are installed" "$(modules)" "$wanted"
same "modules have the version of the package" "$(field version)" "$version"
[ -n "$(field signer)" ]
result $? "modules are signed by DKMS"
same "the command has the version of the package" "$(kmarkers --version)" "kmarkers $version"
for page in man1/kmarkers.1 man1/kmarkers-bench.1 man7/kmarkers.7 man9/kmarkers-immediate.9; do
	try "man page $page is there" test -e "/usr/share/man/$page.gz"
done
same "no module is loaded at boot by itself" "$(started)" ""

refused "headers of another kernel are missing" "headers" dkms build "kmarkers/$version" -k 9.9.9-other
same "modules stay as they were" "$(modules)" "$wanted"

# shellcheck disable=SC2046 # flags are words
try "a program is built by pkg-config" gcc -O2 -o /srv/flight /srv/examples/user/flight.c \
	$(pkg-config --cflags --libs kmarkers-user)
for what in headers examples; do
	try "modules of all $what are built against the packages" "build_$what"
	! grep -qi "undefined\|warning:" /tmp/said
	result $? "their build has no warning"
done
deliver /srv/modules

# To the scripts of the package modules are loaded.
mkdir -p /tmp/loaded/proc /tmp/loaded/sys/module/kmarkers_patcher
echo "kmarkers_patcher 90000 0 - Live 0x0" >/tmp/loaded/proc/modules
echo "$version" >/tmp/loaded/sys/module/kmarkers_patcher/version
find /lib/modules -name 'kmarkers*' -exec ls -i {} + >/tmp/inodes
refused "removing the package while its modules are loaded" \
	"nothing is removed, because these modules are loaded: kmarkers_patcher; unload them first" \
	env KMARKERS_ROOT=/tmp/loaded apt-get -qq -y remove kmarkers-dkms
same "the package is installed as before" "$(state)" "ii $version"
find /lib/modules -name 'kmarkers*' -exec ls -i {} + | diff /tmp/inodes - >/dev/null
result $? "the same files of modules are there as before"

try "packages are upgraded" env KMARKERS_ROOT=/tmp/loaded apt-get -qq -y install /srv/next/*.deb
grep -q "modules of version $version are loaded; unload them, or boot again, to use version $next" /tmp/said
result $? "a sentence says what must happen while older modules are loaded"
rm -r /tmp/loaded
deliver_later
same "modules have the version of the upgrade" "$(field version)" "$next"
same "the older sources are gone" "$(ls -d /usr/src/kmarkers-*)" "/usr/src/kmarkers-$next"
try "packages are downgraded" get install --allow-downgrades /srv/packages/*.deb
same "modules have the version of the downgrade" "$(field version)" "$version"

packages | LC_ALL=C sort >/tmp/packages
older=$release
try "headers of another kernel are installed" get install linux-headers-rt-amd64
release=$(basename /lib/modules/*-rt-amd64)
same "modules are built for a kernel that is installed later" "$(modules)" "$wanted"
dkms uninstall "kmarkers/$version" -k "$release" >/dev/null
same "the modules of that kernel are taken away" "$(modules)" ""
try "modules are built at boot for a kernel that lacks them" dkms autoinstall -k "$release"
same "the modules of that kernel are back" "$(modules)" "$wanted"
deliver /srv/modules-later
release=$older

# As after a removal that was interrupted.
find "/lib/modules/$release/updates" -name 'kmarkers_sdt.ko*' -delete
try "packages are removed although a module is gone" get remove kmarkers kmarkers-dev kmarkers-dkms
same "modules of all kernels are gone" "$(find /lib/modules -name 'kmarkers*')" ""
try "packages are purged" dpkg --purge kmarkers kmarkers-dev kmarkers-dkms
# shellcheck disable=SC2046 # packages are words
dpkg --purge $(packages | LC_ALL=C sort | LC_ALL=C comm -13 /tmp/packages -) >/dev/null 2>&1
# depmod wrote into it.
rm -rf /lib/modules/*-rt-amd64
list_files | diff /tmp/before - >/tmp/left
sed 's/^/# /' /tmp/left
try "purging leaves nothing" test ! -s /tmp/left
echo "1..$number"
