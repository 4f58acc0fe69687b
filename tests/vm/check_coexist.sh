# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The tests of coexistence; KMARKERS_PART says which of them.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. /tests/lib.sh
# shellcheck source-path=SCRIPTDIR source=coexist.sh
. /tests/coexist.sh

load_core || exit 1
read_symbols
case $KMARKERS_PART in
owners)
	suite owners
	test_owners
	;;
storms)
	suite storms
	test_storms
	test_special
	;;
nmis)
	suite nmis
	test_nmis
	;;
esac
unload_core || exit 1
finish
