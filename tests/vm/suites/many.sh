# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Ten thousand names, and commands for all of them.
# shellcheck source=tests/vm/lib_events.sh
. /tests/lib_events.sh

many=10000
# Those whose own files are read; slow kernels are given fewer.
sample=${KMARKERS_SAMPLE:-many_*}
# Seconds that a command for all of them may take, under emulation with other work beside it.
patience=${KMARKERS_PATIENCE:-10}

# for_all COMMAND ROUNDS: one write; how many rounds it took
for_all() {
	rounds=$(stat_of rounds)
	start=$(cut -d. -f1 /proc/uptime)
	put "$1" "$markers"/control
	result $? "$1"
	took=$(($(cut -d. -f1 /proc/uptime) - start))
	same "$1: in $2 rounds" $(($(stat_of rounds) - rounds)) "$2"
	echo "# $took s"
	[ $took -le "$patience" ]
	result $? "$1: in time"
}

# in_state STATE: how many of the names are
in_state() {
	grep -c "^many_[0-9]* $1 " "$markers"/list
}

hit_many() {
	put "$1" /sys/module/kmarkers_test_many/parameters/pass
}

# counts NUMBER: how many of the names were hit that often
counts() {
	# shellcheck disable=SC2086 # a pattern
	cat $markers/$sample/stats | grep -c "^hits $1\$"
}

test_many() {
	start=$(cut -d. -f1 /proc/uptime)
	try "many markers" insmod /modules/kmarkers_test_many.ko
	echo "# $(($(cut -d. -f1 /proc/uptime) - start)) s"
	same "a directory for each" "$(find "$markers" -maxdepth 1 -name 'many_*' | wc -l)" "$many"
	sites=$(stat_of sites)
	for_all "many_* count" 3
	same "every site was switched" $(($(stat_of sites) - sites)) "$many"
	same "all are on" "$(in_state on)" "$many"
	hit_many 2
	sampled=$(find "$markers" -maxdepth 1 -name "$sample" | wc -l)
	same "each marker counted its hits" "$(counts 2)" "$sampled"
	for_all "many_* count" 0
	for_all "many_* none" 3
	same "all are off" "$(in_state off)" "$many"
	hit_many 1
	same "no marker counts while off" "$(counts 2)" "$sampled"

	for_all "many_00?[0-4] trace" 3
	same "a part is on" "$(in_state on)" 50
	clear_trace
	hit_many 1
	same "a part is traced" "$(traced | sort -u | wc -l)" 50
	for_all "many_* trace" 3
	same "all markers are on after all are traced" "$(in_state on)" "$many"
	for_all "many_* count" 0
	for_all "many_* -trace" 0
	same "markers with count stay on without trace" "$(in_state on)" "$many"
	for_all "* none" 3
	same "all are off after none" "$(in_state on)" 0
	test_all_or_nothing
	try "many markers leave" rmmod kmarkers_test_many
	same "no directory stays" "$(find "$markers" -maxdepth 1 -name 'many_*')" ""
	put 0 "$tracing"/events/kmarkers/marker/enable
}

# One name of all cannot be traced.
test_all_or_nothing() {
	insmod /modules/kmarkers_test_events.ko
	put "many_0000 trace" "$markers"/control
	refused "a pattern that matches a marker that cannot be traced" "Invalid argument" put "* trace" "$markers"/control
	same "the refused pattern switched no marker" "$(in_state on)" 1
	same "the refused pattern connected no probe" "$(cat "$markers"/ev_plain/probe)" ""
	put "many_0000 none" "$markers"/control
	rmmod kmarkers_test_events
}
