#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Compares two runs in continuous integration. action.yml and gitlab.yml call this script, which can
# also be called by hand.
#
# usage: ci/compare.sh RUN_A RUN_B [OUT [OPTION...]]
#   OUT      output folder for comparison.md, .json, .xml (JUnit) and .html (default: comparison);
#            older files of these names are removed first
#   OPTION   option of kmarkers compare (default: --fail-on costlier)
# Exit codes: 0 no row fails; 1 a row fails, or a run cannot be used; 2 an argument is wrong, or the
# output folder cannot be made.

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
# Remove an older comparison: if this comparison fails, the older one must not be mistaken for it.
for ending in md json xml html; do
	rm -f "$out/comparison.$ending" || exit 2
done
"$(dirname "$0")/../scripts/kmarkers" compare "$a" "$b" --markdown "$out/comparison.md" \
	--json "$out/comparison.json" --junit "$out/comparison.xml" --html "$out/comparison.html" "$@"
code=$?
# GitHub and compatible forges show the contents of this file as the summary of the job.
if [ -n "${GITHUB_STEP_SUMMARY-}" ] && [ -f "$out/comparison.md" ]; then
	cat "$out/comparison.md" >>"$GITHUB_STEP_SUMMARY"
fi
exit $code
