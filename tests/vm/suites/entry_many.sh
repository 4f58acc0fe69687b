# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Twenty thousand recorded functions, switched at once.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

many_entries=20000
many_dir=$debugfs/entry

# nanoseconds: print the time since boot
nanoseconds() {
	sed -n 's/^now at \([0-9]*\) nsecs$/\1/p' /proc/timer_list
}

# many_timed TEXT FILE: write a line; sets $took_us
many_timed() {
	before_ns=$(nanoseconds)
	put "$1" "$2"
	result $? "written: $1"
	took_us=$((($(nanoseconds) - before_ns) / 1000))
}

# many_in STATE COUNT: print how many of the functions are so
many_in() {
	grep -c "^kmarkers_test_entry_many:many_[0-9]*:entry $1 .* $2 " "$many_dir/list"
}

# switch_many NAME: on and off
switch_many() {
	rounds=$(stat_of rounds)
	many_timed "kmarkers_test_entry_many: count" "$many_dir/control"
	ours_us=$took_us
	same "$1: 20000 functions are on in 3 rounds" $(($(stat_of rounds) - rounds)) 3
	rounds=$(stat_of rounds)
	many_timed "kmarkers_test_entry_many: -count" "$many_dir/control"
	echo "# $1: on in $ours_us us, off in $took_us us"
	same "$1: 20000 functions are off in 3 rounds" $(($(stat_of rounds) - rounds)) 3
}

test_entry_many() {
	try "20000 recorded functions" insmod /modules/kmarkers_test_entry_many.ko
	records=$(($(sed -n 's/^entries //p' "$many_dir/stats") + $(sed -n 's/^exits //p' "$many_dir/stats")))
	[ "$records" -ge "$many_entries" ] &&
		[ "$(sed -n 's/^table_bytes //p' "$many_dir/stats")" -le $((8 * records)) ]
	result $? "no record has more than 8 bytes"
	switch_many "not yet run"
	put 1 /sys/module/kmarkers_test_entry_many/parameters/pass
	switch_many "run before"
	put "kmarkers_test_entry_many: count" "$many_dir/control"
	put 2 /sys/module/kmarkers_test_entry_many/parameters/pass
	same "each of 20000 functions counted its hits" "$(many_in on 2)" "$many_entries"
	put "kmarkers_test_entry_many: -count" "$many_dir/control"
	same "each of 20000 functions is off" "$(many_in off 2)" "$many_entries"
	try "20000 recorded functions leave" rmmod kmarkers_test_entry_many
}
