# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Makes the guest hang in the way that KMARKERS_HOW names. With "busy" the guest does not hang, but
# computes and prints nothing for a while.
case $KMARKERS_HOW in
interrupts) insmod /modules/kmarkers_test_deaf.ko ;;
breakpoint) insmod /modules/kmarkers_test_deaf.ko at_breakpoint=1 ;;
stopped)
	echo "# stop now"
	sleep 1000
	;;
idle) sleep 1000 ;;
busy)
	n=0
	while [ $n -lt 200000 ]; do
		n=$((n + 1))
	done
	;;
esac
