#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the modules of all DKMS packages in Debian's section main for a test kernel, in a minimal
# Debian root. Each package is built twice: unchanged (kind "unmarked"), and with the markers that
# mark.py inserts (kind "marked").
#
# usage: tests/dkms/build.sh KERNEL KMARKERS OUT [PACKAGE...]
# KERNEL is the unpacked kernel, KMARKERS the folder where kmarkers was built for it. Modules are
# written to OUT/unmarked/PACKAGE and OUT/marked/PACKAGE. PACKAGE is the name of a package; if none
# is given, all DKMS packages that apt knows are built. Prints one line per package. The exit code is
# 0 if each package that builds unchanged also builds with markers, without a new warning; otherwise
# 1.

case ${1-} in
-h | --help | '') sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" && exit ;;
esac

set -euo pipefail
kernel=$1 out=$3
export KMARKERS=$2
here=$(realpath "$(dirname "$0")")
release=$(basename "$kernel"/usr/lib/modules/*)
failed=0
# Time limits of a build in seconds. The limit is larger for builds with markers, because the
# machine may be busier during these builds.
declare -A limit=([unmarked]=900 [marked]=2700)

# Link the kernel's headers to the paths that their makefiles use.
mkdir -p /usr/lib/modules "$out"
out=$(realpath "$out")
ln -sfn "$kernel"/usr/src/* /usr/src/
ln -sfn "$kernel"/usr/lib/modules/* /usr/lib/modules/
ln -sfn "$kernel"/usr/lib/linux-kbuild-* /usr/lib/

# build_package KIND: build the package with dkms, and write its modules and a log to OUT; KIND is
# unmarked (unchanged) or marked (with the markers that mark.py inserts)
build_package() {
	local log=$out/$1-$package.log
	dkms remove "$name/$version" --all >/dev/null 2>&1 || true
	dkms add "$name/$version" >"$log" 2>&1 || return
	timeout "${limit[$1]}" dkms build "$name/$version" -k "$release" >>"$log" 2>&1 || {
		[[ $? != 124 ]] || echo "*** the $1 build did not end within ${limit[$1]} s" >>"$log"
		cat "/var/lib/dkms/$name/$version/build/make.log" >>"$log" 2>/dev/null || true
		return 1
	}
	mkdir -p "$out/$1/$package" &&
		cp "/var/lib/dkms/$name/$version/$release"/*/module/*.ko* "$out/$1/$package/" &&
		cat "/var/lib/dkms/$name/$version/$release"/*/log/make.log >>"$log"
}

# list_warnings KIND: print the texts of the compiler's warnings, without file names and line
# numbers
list_warnings() {
	sed -n 's/^.*warning: //p' "$out/$1-$package.log" | sort -u
}

# print_new_warning: print the first warning that only the build with markers has
print_new_warning() {
	comm -13 <(list_warnings unmarked) <(list_warnings marked) | head -n 1
}

# print_failed_line KIND: print the line of the log in which the build failed
print_failed_line() {
	grep -E -m 1 'error:|\*\*\*|: not found' "$out/$1-$package.log" || grep -m 1 'Error!' "$out/$1-$package.log" ||
		tail -n 1 "$out/$1-$package.log"
}

mapfile -t packages < <(apt-cache search --names-only -- '-dkms$' | cut -d' ' -f1 | grep -vx dh-dkms | sort)
((${#packages[@]} > 5)) || {
	echo "build.sh: apt knows only ${#packages[@]} DKMS packages; run apt-get update" >&2
	exit 1
}
(($# < 4)) || packages=("${@:4}")
cd /tmp
for package in "${packages[@]}"; do
	apt-get -qq download "$package" 2>/dev/null || {
		echo "SKIP $package: apt-get cannot download the package"
		continue
	}
	# Unpack the package instead of installing it: other files of the package may conflict with
	# the root.
	rm -rf unpacked
	dpkg-deb -x "$package"_*.deb unpacked
	rm "$package"_*.deb
	conf=$(echo unpacked/usr/src/*/dkms.conf)
	[[ -e $conf ]] || {
		echo "SKIP $package: the package has no dkms.conf"
		continue
	}
	sources=/usr/src/$(basename "$(dirname "$conf")")
	mv "$(dirname "$conf")" "$sources"
	conf=$sources/dkms.conf
	name=${sources##*/} version=${sources##*-}
	name=${name%-"$version"}
	# Take name and version from dkms.conf: the version may contain a dash.
	# shellcheck disable=SC1090 # the path depends on the package
	read -r name version < <(
		set +eu
		. "$conf" >/dev/null 2>&1
		echo "${PACKAGE_NAME:-$name} ${PACKAGE_VERSION:-$version}"
	)
	if ! build_package unmarked; then
		echo "SKIP $package: its modules do not build, even without markers: $(print_failed_line unmarked)"
		continue
	fi
	"$here/mark.py" "$sources" "$KMARKERS"
	more=
	if build_package marked && [[ $(print_new_warning) == *objtool:* ]]; then
		# objtool cannot follow the code that gcc emits for some computed gotos if exits are
		# recorded.
		more=", without exits: $(print_new_warning)"
		grep -rlF /entry.mk "$sources" | xargs sed -i '/entry\.mk$/i KMARKERS_ENTRY_EXITS := n'
	fi
	if grep -q "modpost: GPL-incompatible module" "$out/marked-$package.log"; then
		echo "SKIP $package: its licence is not GPL-compatible, and kmarkers exports symbols to GPL modules only"
	elif [[ $more ]] && ! build_package marked || [[ ! -d $out/marked/$package ]]; then
		echo "FAILED $package: its modules do not build with markers: $(print_failed_line marked)"
		failed=1
	elif [[ $(print_new_warning) ]]; then
		echo "FAILED $package: the build with markers has a new warning: $(print_new_warning)"
		failed=1
	else
		echo "ok $package: its modules build with markers$more"
	fi
done
exit "$failed"
