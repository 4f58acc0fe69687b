# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The tests of events and controls alone, for whoever works on them.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. /tests/lib.sh
# shellcheck source-path=SCRIPTDIR source=many.sh
. /tests/many.sh
# shellcheck source-path=SCRIPTDIR source=functions.sh
. /tests/functions.sh

load_core || exit 1
suite events
test_events
suite many
test_many
suite functions
test_functions
unload_core || exit 1
finish
