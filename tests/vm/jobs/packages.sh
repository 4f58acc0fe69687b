# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Modules that DKMS built and signed, in the kernel of their Debian. KMARKERS_PART is "plain", or
# "enrolled", where the firmware has DKMS's key, or "refused", where the firmware lacks that key and
# modules must be signed.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

run_suite packages
[ "$KMARKERS_PART" != plain ] || run_suite host
finish
