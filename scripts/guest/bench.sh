# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Job for a test kernel: runs every benchmark and writes the samples to /results. /bench.conf has
# lines "name value" with settings of kmarkers_bench, and these lines:
#   live BLOCKS BENCHMARKS   also measures these benchmarks with kmlive
#   start PATTERNS           measures only benchmarks whose names match a pattern
#   own DIR                  measures only the benchmarks that the modules in DIR register
# The variables MODULES, RESULTS, CONFIG and KMLIVE override the paths, for use on a running system.
modules=${MODULES-/modules}
results=${RESULTS-/results}

bench=/sys/kernel/debug/kmarkers/bench
control=/sys/module/kmarkers_bench/parameters/control

for module in kmarkers_patcher kmarkers_events kmarkers_immediate kmarkers_markers kmarkers_sdt \
	kmarkers_bench_sites kmarkers_bench; do
	insmod "$modules/$module.ko" || exit 1
done
live=0 lives='' patterns='' names='' own='' owned='' before='' peers=''
while read -r name value; do
	case $name in
	live) live=${value%% *} lives=${value#* } ;;
	start) patterns=$value ;;
	own) own=$value ;;
	*) echo "$name $value" >"$control" || exit 1 ;;
	esac
done <"${CONFIG-/bench.conf}"

# refuse_to_measure WHY: print the reason why nothing is measured, and exit with 1
refuse_to_measure() {
	echo "bench: not measured: $1"
	exit 1
}

# print_kernel_message: print the last line of the kernel log, unless this line is $log, the last
# line before the failed command
print_kernel_message() {
	last=$(dmesg | tail -n 1)
	[ "$last" = "$log" ] || echo "; last kernel message: ${last#*] }"
}

if [ -n "$own" ]; then
	before=" $(cd "$bench" && echo *) "
	for module in "$own"/*.ko; do
		log=$(dmesg | tail -n 1)
		said=$(insmod "$module" 2>&1) || refuse_to_measure "$said$(print_kernel_message)"
		module=${module##*/}
		owned="${module%.ko}${owned:+ $owned}"
	done
	patterns=${patterns:-*}
fi

for samples in "$bench"/*/samples; do
	name=${samples%/samples}
	name=${name##*/}
	case $before in
	*" $name "*) continue ;;
	esac
	# Turn off expansion to file names: the patterns are for names of benchmarks.
	set -f
	for pattern in $patterns; do
		# shellcheck disable=SC2254
		case $name in
		$pattern) names="$names $name" && break ;;
		esac
	done
	set +f
done
if [ -n "$own" ]; then
	set -f
	for pattern in $patterns; do
		for name in $names ''; do
			# shellcheck disable=SC2254
			case $name in
			'') [ "$pattern" != '*' ] || refuse_to_measure "$owned adds no benchmark" ;;
			$pattern) continue 2 ;;
			esac
		done
		refuse_to_measure "no benchmark of $owned matches $pattern"
	done
	set +f
elif [ -n "$patterns" ] && [ -z "$names" ] && [ "$live" = 0 ]; then
	refuse_to_measure "no benchmark in this kernel matches $patterns"
fi

# detach_bpf_programs: end the process $peers, which attached the BPF programs, and wait until it
# has exited. Until then, the programs hold references to kmarkers_bench, which therefore cannot be
# unloaded.
detach_bpf_programs() {
	[ -n "$peers" ] || return 0
	kill "$peers"
	# The files of a process are closed once it is a zombie or gone.
	while grep -q '^State:.[^ZX]' "/proc/$peers/status" 2>/dev/null; do :; done
	peers=
}

if [ -z "$patterns" ] || [ -n "$names" ]; then
	# Attach BPF programs for the benchmarks peer-bpf-*, which are skipped without them. The
	# programs are detached when this shell ends.
	[ -n "$own" ] || peers=$("${KMLIVE-/kmlive}" attach $$) ||
		echo "bench: SKIP peer-bpf-*: BPF programs cannot be attached"
	log=$(dmesg | tail -n 1)
	echo "start$names" >"$control" ||
		refuse_to_measure "the benchmarks cannot be started$(print_kernel_message)"
	while state=$(cat "$bench/status"); do
		echo "bench: $state"
		case $state in
		running*) sleep 2 ;;
		*) break ;;
		esac
	done
	case $state in
	done*) ;;
	*) refuse_to_measure "the benchmarks did not complete: $state" ;;
	esac
	detach_bpf_programs
fi

if [ "$live" -gt 0 ]; then
	echo "bench: kmlive measures $live blocks of each benchmark: $lives"
	# The benchmarks macro-* send packets over the loopback device.
	[ "${MODULES-}" ] || ip link set lo up || exit 1
	# shellcheck disable=SC2086 # $lives is a list of names
	"${KMLIVE-/kmlive}" "$live" "$(sed -n 's/^seed=//p' "$bench/env")" "$results" $lives || exit 1
	echo "getppid-live original" >"$control" || exit 1
fi

cat "$bench/env" >"$results/env"
if [ "$live" -gt 0 ]; then
	cat "$results/live" >>"$results/env" && rm "$results/live"
fi
for samples in "$bench"/*/samples; do
	name=${samples%/samples}
	name=${name##*/}
	# A benchmark that cannot be measured in this kernel has no samples.
	grep -q "^$name," "$samples" || continue
	cat "$samples" >"$results/$name.csv" || exit 1
	echo "$name"
	cat "$bench/$name/summary"
done
for module in $owned; do
	said=$(rmmod "$module" 2>&1) || refuse_to_measure "module $module cannot be unloaded: $said"
done
rmmod kmarkers_bench && rmmod kmarkers_bench_sites && rmmod kmarkers_sdt &&
	rmmod kmarkers_markers && rmmod kmarkers_immediate && rmmod kmarkers_events &&
	rmmod kmarkers_patcher
