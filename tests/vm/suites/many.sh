# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A module with ten thousand markers, and commands for all of them.
# shellcheck source=tests/vm/lib_events.sh
. /tests/lib_events.sh

many=10000
# The names whose own files are read; the host sets fewer for slow kernels.
sample=${KMARKERS_SAMPLE:-many_*}
# How many seconds a command for all names may take in an emulator, with other work beside it.
patience=${KMARKERS_PATIENCE:-10}

# for_all COMMAND ROUNDS: write a command; passes if it takes that many rounds and at most $patience
# seconds
for_all() {
	rounds=$(stat_of rounds)
	start=$(cut -d. -f1 /proc/uptime)
	put "$1" "$markers"/control
	result $? "control takes '$1'"
	took=$(($(cut -d. -f1 /proc/uptime) - start))
	same "'$1' takes $2 rounds" $(($(stat_of rounds) - rounds)) "$2"
	echo "# '$1' took $took s"
	[ $took -le "$patience" ]
	result $? "'$1' takes no longer than it may"
}

# in_state STATE: print how many of the names are on, or off
in_state() {
	grep -c "^many_[0-9]* $1 " "$markers"/list
}

# hit_many TIMES: hit every marker
hit_many() {
	put "$1" /sys/module/kmarkers_test_many/parameters/pass
}

# counts NUMBER: print how many of the sampled names counted that many hits
counts() {
	# shellcheck disable=SC2086 # a pattern
	cat $markers/$sample/stats | grep -c "^hits $1\$"
}

# many_events: print how many of the names are trace events, once all pending ones are added or
# removed
many_events() {
	cat "$markers"/list >/dev/null
	find "$tracing"/events/kmarkers -maxdepth 1 -name 'many_*' | wc -l
}

test_many() {
	start=$(cut -d. -f1 /proc/uptime)
	try "module of many markers loads" insmod /modules/kmarkers_test_many.ko
	echo "# it took $(($(cut -d. -f1 /proc/uptime) - start)) s"
	same "each marker has a directory" "$(find "$markers" -maxdepth 1 -name 'many_*' | wc -l)" "$many"
	same "each name is a trace event" "$(many_events)" "$many"
	sites=$(stat_of sites)
	for_all "many_* count" 3
	same "'many_* count' switches every site" $(($(stat_of sites) - sites)) "$many"
	same "all markers are on after count" "$(in_state on)" "$many"
	hit_many 2
	sampled=$(find "$markers" -maxdepth 1 -name "$sample" | wc -l)
	same "each marker counted its hits" "$(counts 2)" "$sampled"
	for_all "many_* count" 0
	test_many_listed
	for_all "many_* none" 3
	same "all markers are off after none" "$(in_state off)" "$many"
	hit_many 1
	same "no marker counts while off" "$(counts 2)" "$sampled"

	for_all "many_00?[0-4] trace" 3
	same "50 markers are on after trace of a part" "$(in_state on)" 50
	clear_trace
	hit_many 1
	same "50 markers are traced after trace of a part" "$(traced | sort -u | wc -l)" 50
	for_all "many_* trace" 3
	same "all markers are on after trace of all" "$(in_state on)" "$many"
	for_all "many_* count" 0
	for_all "many_* -trace" 0
	same "markers with count stay on after -trace" "$(in_state on)" "$many"
	for_all "* none" 3
	same "no marker is on after '* none'" "$(in_state on)" 0
	test_all_or_nothing
	try "module of many markers unloads" rmmod kmarkers_test_many
	same "no marker of many has a directory after its module unloaded" "$(find "$markers" -maxdepth 1 -name 'many_*')" ""
	same "no name is a trace event after its module unloaded" "$(many_events)" 0
	put 0 "$tracing"/events/kmarkers/marker/enable
}

# Writing a list of ten thousand lines lets other tasks run, also when the list goes to the log.
test_many_listed() {
	try "the list of many markers lets others run" gives_way "read -r line <$markers/list"
	try "the list of many values lets others run" gives_way "read -r line <$debugfs/immediate/list"
	insmod /modules/kmarkers_test_history.ko
	level=$(cut -f1 /proc/sys/kernel/printk)
	put 1 /proc/sys/kernel/printk
	try "logging many markers lets others run" gives_way "echo >/sys/module/kmarkers_test_history/parameters/list"
	put "$level" /proc/sys/kernel/printk
	rmmod kmarkers_test_history
}

# A pattern matches many names that can be traced and one that cannot.
test_all_or_nothing() {
	insmod /modules/kmarkers_test_events.ko
	put "many_0000 trace" "$markers"/control
	refused "a pattern that matches a marker that cannot be traced" "Invalid argument" put "* trace" "$markers"/control
	same "the refused pattern switched no marker" "$(in_state on)" 1
	same "the refused pattern connected no probe" "$(cat "$markers"/ev_plain/probe)" ""
	put "many_0000 none" "$markers"/control
	rmmod kmarkers_test_events
}
