# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Tests modules that DKMS has built and signed, in the kernel of their Debian release. KMARKERS_PART
# is "plain"; "enrolled", if the firmware has the key of DKMS; or "refused", if the firmware lacks
# that key and modules must be signed.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

run_suite packages
[ "$KMARKERS_PART" != plain ] || run_suite host
finish
