#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs as root in a minimal Debian: installs, upgrades and removes the packages as users do.
# /srv/packages contains the packages, /srv/next the packages of a later version, /srv/examples the
# examples. Prints KTAP. Writes the modules that are tested in a test kernel, and the key of DKMS,
# to /srv/modules. Writes the modules for a kernel that is installed later to /srv/modules-later.
#
# usage: root.sh VERSION NEXT
version=$1 next=$2
number=0
# Limit of the CPU time of the installation in seconds: users should wait for at most 3 minutes. The
# CPU time is checked, because a busy machine hardly changes it.
PROCESSOR_SECONDS=170

# result CODE NAME: print the result of a test, which has passed if CODE is 0
result() {
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then echo "ok $number $2"; else echo "not ok $number $2"; fi
}

# try NAME COMMAND...: a test that passes if the command succeeds
try() {
	name=$1
	shift
	"$@" >/tmp/said 2>&1
	code=$?
	[ $code = 0 ] || tail -n 15 /tmp/said /var/lib/dkms/kmarkers/*/build/make.log 2>/dev/null | sed 's/^/# /'
	result $code "$name"
}

# refused NAME PATTERN COMMAND...: a test that passes if the command fails and a line of its output
# matches PATTERN
refused() {
	name=$1 pattern=$2
	shift 2
	! "$@" >/tmp/said 2>&1 && grep -q "$pattern" /tmp/said
	code=$?
	[ $code = 0 ] || tail -n 15 /tmp/said | sed 's/^/# /'
	result $code "$name"
}

# same NAME GOT WANTED: a test that passes if both texts are equal
same() {
	[ "$2" = "$3" ] || echo "# $1: got '$2', wanted '$3'"
	[ "$2" = "$3" ]
	result $? "$1"
}

run_apt_get() {
	# Without a pseudoterminal, apt writes no carriage returns into the output.
	apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends "$@"
}

# list_files: print all files except caches, logs and package lists, to find files that a package
# leaves behind. The key of DKMS is left out, because DKMS keeps the key for other packages.
list_files() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /srv -o -path /run \
		-o -path /var/cache -o -path /var/log -o -path '/var/lib/dpkg/*-old' \
		-o -path /var/lib/apt/lists -o -path '/var/lib/dkms/mok.*' -o -name __pycache__ \) -prune -o -print | LC_ALL=C sort
}

# list_modules: print the names of the installed modules of kmarkers
list_modules() {
	find "/lib/modules/$release/updates" -name 'kmarkers*.ko*' | sed 's|.*/||; s/\.ko.*//' | sort
}

# list_field NAME: print the values of a modinfo field of the installed modules, each value once
list_field() {
	find "/lib/modules/$release/updates" -name 'kmarkers*.ko*' -exec modinfo -F "$1" {} + | sort -u
}

# list_described_parameters: print the module parameters that have a description: "MODULE PARAMETER"
# on each line
list_described_parameters() {
	list_modules | while read -r module; do
		modinfo -k "$release" -F parm "$module" | sed -n "s/^\([a-z_]*\):..*/$module \1/p"
	done
}

# list_boot_files: print the files that load a module of kmarkers at boot, or set its parameters
list_boot_files() {
	find /etc/modules-load.d /usr/lib/modules-load.d /lib/modules-load.d /etc/modprobe.d \
		/usr/lib/modprobe.d /lib/modprobe.d -name '*kmarkers*' 2>/dev/null
}

# print_package_state: print dpkg's status and version of the package kmarkers-dkms
print_package_state() {
	dpkg-query -W -f '${db:Status-Abbrev}${Version}' kmarkers-dkms
}

# print_cpu_seconds_of_children BEFORE AFTER: print the CPU seconds of this script's child
# processes, from the files BEFORE and AFTER with output of "times"
print_cpu_seconds_of_children() {
	cat "$1" "$2" | sed -n 's/[ms]/ /g; 2p; 4p' |
		awk '{ worked = $1 * 60 + $2 + $3 * 60 + $4 - worked } END { print int(worked) }'
}

# build_module DIRECTORY: build an external module against the installed packages, as users do
build_module() {
	make -C "/lib/modules/$release/build" M="$1" \
		KMARKERS="$(pkg-config --variable=kmarkers kmarkers)" modules
}

# build_module_per_header: for each installed header for modules, build a module that includes only
# this header
build_module_per_header() {
	objects='' headers=$(cd "$(pkg-config --variable=kmarkers kmarkers)/include" &&
		grep -L '#error "include <' kmarkers/*.h linux/*.h | grep -v /user.h) || return
	rm -rf /srv/each && mkdir /srv/each
	for header in $headers; do
		name=each_$(basename "$header" .h)_$(dirname "$header")
		objects="$objects $name.o"
		printf '#include <%s>\n#include <linux/module.h>\nMODULE_LICENSE("GPL");\n' "$header" >"/srv/each/$name.c"
	done
	# shellcheck disable=SC2016 # a variable of make
	printf 'include $(KMARKERS)/kmarkers.mk\nobj-m :=%s\n' "$objects" >/srv/each/Kbuild
	[ "$(echo "$objects" | wc -w)" -gt 20 ] && build_module /srv/each
}

# build_examples: build the module of each example
build_examples() {
	for kbuild in /srv/examples/*/Kbuild; do
		rm -rf /srv/each
		cp -r "$(dirname "$kbuild")" /srv/each
		build_module /srv/each || return
	done
}

# build_and_copy_modules DIRECTORY: build and sign an external client module, and copy all modules
# and other files for the test kernel to DIRECTORY. The client is signed, because Secure Boot
# requires it.
build_and_copy_modules() {
	rm -rf /srv/client
	cp -r /srv/examples/client /srv/client
	try "an external client module for $release is built with pkg-config" build_module /srv/client
	! grep -q "undefined\|WARNING" /tmp/said
	result $? "the build of the client for $release has no warning"
	if grep -q "^CONFIG_MODVERSIONS=y" "/lib/modules/$release/build/.config"; then
		modprobe --dump-modversions /srv/client/example_client.ko >/tmp/versions
		grep -q patcher_ /tmp/versions || grep -q marker_ /tmp/versions
		result $? "the client for $release has symbol versions of kmarkers modules"
	fi
	try "a client for $release is signed with DKMS's key" "/lib/modules/$release/build/scripts/sign-file" \
		sha256 /var/lib/dkms/mok.key /var/lib/dkms/mok.pub /srv/client/example_client.ko
	mkdir -p "/lib/modules/$release/extra" "$1"
	cp /srv/client/example_client.ko "/lib/modules/$release/extra/"
	depmod "$release"
	cp -r "/lib/modules/$release/updates" "/lib/modules/$release/extra" "/lib/modules/$release"/modules.* "$1"
	cp /var/lib/dkms/mok.key /var/lib/dkms/mok.pub /var/lib/dpkg/info/kmarkers-dkms.prerm "$1"
	list_described_parameters >"$1/described"
	cp -r /usr/share/doc/kmarkers-dkms/examples "$1"
	echo "$release" >"$1/release"
	rm -r "/lib/modules/$release/extra"
	depmod "$release"
}

# copy_later_modules: copy two modules of the later version to /srv/modules/next
copy_later_modules() {
	mkdir -p /srv/modules/next
	cp "/lib/modules/$release/updates/dkms/kmarkers_immediate.ko"* \
		"/lib/modules/$release/updates/dkms/kmarkers_patcher.ko"* /srv/modules/next/
	if [ -e /srv/modules/next/kmarkers_immediate.ko.xz ]; then xz -d /srv/modules/next/*.xz; fi
}

# list_packages: print the names of the installed packages
list_packages() {
	dpkg-query -W -f '${Package}\n'
}

# shellcheck disable=SC2016 # the other shell expands the variable
# install_with_small_dkms_mount: install the modules while DKMS has only 4 MB for a build. The mount
# is in a separate mount namespace, which ends with the command.
install_with_small_dkms_mount() {
	unshare --mount sh -e -c 'mount -t tmpfs -o size=4m tmpfs /var/lib/dkms
		exec apt-get -qq -y --no-install-recommends install "$1"' \
		install_with_small_dkms_mount "/srv/packages/kmarkers-dkms_${version}_all.deb"
}

export DEBIAN_FRONTEND=noninteractive
run_apt_get update && run_apt_get install dkms gcc make openssl kmod pkgconf libc6-dev mount \
	python3-numpy patch xz-utils || exit
echo "# uptime: tools are installed"

try "packages can be installed without kernel headers" run_apt_get install /srv/packages/*.deb
grep -q "no module was built: headers of a kernel are missing" /tmp/said
result $? "a message reports that kernel headers are missing"
try "packages without a build can be purged" run_apt_get purge kmarkers kmarkers-dev kmarkers-dkms kmarkers-doc

run_apt_get install linux-headers-amd64 >/dev/null || exit
release=$(basename /lib/modules/*-amd64)
depmod "$release"
list_files >/tmp/before

refused "installing fails if the disk is full during the build" "[Ee]rror\|No space" install_with_small_dkms_mount
same "no module is left by the failed installation" "$(list_modules)" ""
start=$(date +%s)
# Call times in the shell itself: a subshell does not have the CPU times of these children.
times >/tmp/before.times
try "the installation succeeds when the disk has space" run_apt_get install /srv/packages/*.deb
times >/tmp/after.times
worked=$(print_cpu_seconds_of_children /tmp/before.times /tmp/after.times)
echo "# the installation took $(($(date +%s) - start)) s, CPU time $worked s"
[ "$worked" -gt 0 ] && [ "$worked" -le "$PROCESSOR_SECONDS" ]
result $? "the installation takes at most $PROCESSOR_SECONDS s of CPU time"
grep -q "^kmarkers-dkms: [1-9][0-9]* of [1-9][0-9]* files are compiled$" /tmp/said
result $? "the installation prints the number of compiled files"
try "no package is partly installed" test -z "$(dpkg --audit)"
wanted=$(sed -n 's/^BUILT_MODULE_NAME.*="\(.*\)"/\1/p' "/usr/src/kmarkers-$version/dkms.conf" | sort)
same "all modules are installed" "$(list_modules)" "$wanted"
same "modules have the version of the package" "$(list_field version)" "$version"
[ -n "$(list_field signer)" ]
result $? "modules are signed by DKMS"
same "the command has the version of the package" "$(kmarkers --version)" "kmarkers $version"
for page in man1/kmarkers.1 man1/kmarkers-bench.1 man7/kmarkers.7 man9/kmarkers-immediate.9; do
	try "man page $page is installed" test -e "/usr/share/man/$page.gz"
done
handbook=/usr/share/doc/kmarkers-doc/html
grep -q "commit [0-9a-f]\{12\}" $handbook/index.html
result $? "the handbook names the commit of which it was made"
for page in Documentation/tutorials/replace reference/commands reference/functions/patcher reference/headers/kmarkers/sdt; do
	try "the handbook has the page $page" test -s "$handbook/$page.html"
done
same "no installed file loads a module at boot" "$(list_boot_files)" ""

refused "building for a kernel without headers fails" "headers" dkms build "kmarkers/$version" -k 9.9.9-other
same "the failed build changes no module" "$(list_modules)" "$wanted"

# shellcheck disable=SC2046 # word splitting is intended
try "a program is built by pkg-config" gcc -O2 -o /srv/flight /srv/examples/user/flight.c \
	$(pkg-config --cflags --libs kmarkers-user)
for what in headers examples; do
	try "modules of all $what are built against the packages" "build_$what"
	! grep -qi "undefined\|warning:" /tmp/said
	result $? "the build of modules of all $what has no warning"
done
build_and_copy_modules /srv/modules

# Simulate loaded modules for the maintainer scripts of the package, which read KMARKERS_ROOT.
mkdir -p /tmp/loaded/proc /tmp/loaded/sys/module/kmarkers_patcher
echo "kmarkers_patcher 90000 0 - Live 0x0" >/tmp/loaded/proc/modules
echo "$version" >/tmp/loaded/sys/module/kmarkers_patcher/version
find /lib/modules -name 'kmarkers*' -exec ls -i {} + >/tmp/inodes
refused "removing the package is refused while its modules are loaded" \
	"nothing is removed, because these modules are loaded: kmarkers_patcher; unload them first" \
	env KMARKERS_ROOT=/tmp/loaded apt-get -qq -y remove kmarkers-dkms
same "the package is still installed after the refused removal" "$(print_package_state)" "ii $version"
find /lib/modules -name 'kmarkers*' -exec ls -i {} + | diff /tmp/inodes - >/dev/null
result $? "the refused removal leaves the module files unchanged"

try "packages are upgraded" env KMARKERS_ROOT=/tmp/loaded apt-get -qq -y install /srv/next/*.deb
grep -q "modules of version $version are loaded; unload them, or boot again, to use version $next" /tmp/said
result $? "a message asks to unload the older modules or to reboot"
rm -r /tmp/loaded
copy_later_modules
same "modules have the version of the upgrade" "$(list_field version)" "$next"
same "the older sources are removed" "$(ls -d /usr/src/kmarkers-*)" "/usr/src/kmarkers-$next"
try "packages are downgraded" run_apt_get install --allow-downgrades /srv/packages/*.deb
same "modules have the version of the downgrade" "$(list_field version)" "$version"

list_packages | LC_ALL=C sort >/tmp/packages
older=$release
try "headers of another kernel are installed" run_apt_get install linux-headers-rt-amd64
release=$(basename /lib/modules/*-rt-amd64)
same "modules are built for a kernel that is installed later" "$(list_modules)" "$wanted"
dkms uninstall "kmarkers/$version" -k "$release" >/dev/null
same "the modules of that kernel are uninstalled" "$(list_modules)" ""
try "modules are built at boot for a kernel that lacks them" dkms autoinstall -k "$release"
same "the modules of that kernel are installed again" "$(list_modules)" "$wanted"
build_and_copy_modules /srv/modules-later
release=$older

# Delete a module, as an interrupted removal may have done.
find "/lib/modules/$release/updates" -name 'kmarkers_sdt.ko*' -delete
try "packages are removed although a module is missing" run_apt_get remove kmarkers kmarkers-dev kmarkers-dkms kmarkers-doc
same "no kernel has modules of kmarkers any more" "$(find /lib/modules -name 'kmarkers*')" ""
try "packages are purged" dpkg --purge kmarkers kmarkers-dev kmarkers-dkms kmarkers-doc
# shellcheck disable=SC2046 # word splitting is intended
dpkg --purge $(list_packages | LC_ALL=C sort | LC_ALL=C comm -13 /tmp/packages -) >/dev/null 2>&1
# Also remove the folder of the other kernel, to which depmod has written files.
rm -rf /lib/modules/*-rt-amd64
list_files | diff /tmp/before - >/tmp/left
sed 's/^/# /' /tmp/left
try "purging leaves no files" test ! -s /tmp/left
echo "1..$number"
