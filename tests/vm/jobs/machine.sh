# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Acts as a machine of a fleet: runs an ssh server until the file /tmp/over exists.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

begin_suite machine
ln -s /usr/bin/python3.11 /usr/bin/python3
mkdir -p /var/tmp /etc/dropbear /run
insmod /e1000.ko
within 60 ip link set eth0 up
result $? "the network interface is up"
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
/usr/sbin/dropbear -R -E -s -F -p 22 2>/tmp/dropbear &
echo "# reachable"
expedite_grace_periods 1
while [ ! -e /tmp/over ]; do
	sleep 5
	echo "# dropbear: $(tail -n 1 /tmp/dropbear)"
done
kill $!
! grep ^kmarkers_ /proc/modules
result $? "no module of kmarkers is loaded"
finish
