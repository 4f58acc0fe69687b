#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The step of continuous integration that compares two runs. The action, the templates and a shell
# call it alike.
#
# usage: ci/compare.sh RUN_A RUN_B [OUT [OPTION...]]
#   OUT      folder of comparison.md, .json, .xml (JUnit) and .html (default: comparison)
#   OPTION   of kmarkers compare (default: --fail-on costlier)
# Exit codes: 0 no row fails, 1 a row fails or a run cannot be used, 2 it cannot be done.

case ${1-} in
-h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" && exit ;;
esac
[ $# -ge 2 ] || {
	echo "usage: ci/compare.sh RUN_A RUN_B [OUT [OPTION...]]" >&2
	exit 2
}
a=$1 b=$2 out=${3-comparison}
shift 2
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- --fail-on costlier
mkdir -p "$out" || exit 2
"$(dirname "$0")/../scripts/kmarkers" compare "$a" "$b" --markdown "$out/comparison.md" \
	--json "$out/comparison.json" --junit "$out/comparison.xml" --html "$out/comparison.html" "$@"
code=$?
# Forges that show a summary name its file here.
if [ -n "${GITHUB_STEP_SUMMARY-}" ] && [ -f "$out/comparison.md" ]; then
	cat "$out/comparison.md" >>"$GITHUB_STEP_SUMMARY"
fi
exit $code
