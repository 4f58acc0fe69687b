# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The tests of events alone, for whoever works on them.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. /tests/lib.sh
# shellcheck source-path=SCRIPTDIR source=events.sh
. /tests/events.sh

load_core || exit 1
suite events
test_events
unload_core || exit 1
finish
