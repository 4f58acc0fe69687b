# SPDX-License-Identifier: GPL-2.0-only
# The commands of kmarkers; "make help" lists them.

# No makefile can name a file in a directory whose name holds a blank.
ifneq ($(words $(CURDIR)),1)
$(error this directory's name holds a blank, which make cannot work with; move it: $(CURDIR))
endif

# These functions turn a variable, as it was written, into a word of the shell, an option with a
# value and an option without. An option without a value is left out if the variable is 0.
quoted = '$(subst ','\'',$(1))'
option = $(if $(value $(1)),$(2)=$(call quoted,$(value $(1))))
flag = $(if $(filter-out 0,$(value $(1))),$(2))
kernel = $(call option,K,--kernel)
name = $(if $(value K),$(1) $(call quoted,$(value K)))

KDIR ?= /lib/modules/$(shell uname -r)/build
KMARKERS := scripts/kmarkers
export PATH := $(CURDIR)/build/venv/bin:$(PATH)
# What "make install" heeds, given to make or in the environment.
export DESTDIR PREFIX LIBDIR ZSHDIR KDIR

modules: ## build the modules for the running kernel, or for KDIR=...
	@test -e $(call quoted,$(KDIR))/Makefile || { \
		echo "modules: no kernel headers in" $(call quoted,$(KDIR))":" \
			"$$(scripts/host hint), or set KDIR" >&2; exit 2; }
	$(MAKE) -C $(call quoted,$(KDIR)) M=$(CURDIR) modules

bench: ## set up, build, measure in every tier, report (QUICK=1: a short run; RESUME=RUN: the rest of a run)
	@scripts/bench $(kernel) $(call flag,QUICK,--quick) $(call option,RESUME,--resume)

# What could not be set up is named, and the tests that need it are skipped.
check check-full:
	@$(if $(filter %-full,$@),scripts/setup --lint; scripts/setup --tools; scripts/setup --page; scripts/setup --fresh; scripts/setup --fleet;) scripts/setup $(call name) || \
		echo "$@: what could not be set up is left out" >&2
	@$(KMARKERS) check $(if $(filter %-full,$@),--full) $(kernel)
check: ## run all tests that a machine without special hardware can run, in a short form
check-full: ## run them at length, also beside other changes of text and in other kernels, and lint

check-fresh: ## run the README's commands in bare Debian systems (ROOT=bookworm, WHO=user, STEP=bench, QUICK=1)
	@scripts/setup --fresh
	@$(KMARKERS) check fresh $(call option,ROOT,--root) $(call option,WHO,--who) \
		$(foreach step,$(value STEP),--step=$(call quoted,$(step))) \
		$(call flag,QUICK,--quick) $(call flag,README,--readme)

check-packages: ## install, use and remove the packages in bare Debian systems (ROOT=bookworm)
	@scripts/setup --packages
	@$(KMARKERS) check packages $(call option,ROOT,--root)

check-still: setup ## test that guests which hang are found, and the ways to hang told apart
	@$(KMARKERS) check still $(kernel)

check-matrix: setup ## run the tests inside every stock kernel of kernels.txt (K=6.12-rt: inside one)
	@$(KMARKERS) check matrix $(call name,--)

check-debug: setup ## run the tests inside kernels built to look for faults
	@$(KMARKERS) check matrix $(or $(call name,--),--debug)

check-native: setup ## run the tests in user space alone, also under three sanitizers
	@$(KMARKERS) check native

fuzz: ## fuzz parsers, tables and emulator, FUZZ_SECONDS each (default 60)
	@scripts/setup --tools
	@$(KMARKERS) check fuzz

coverage: setup ## measure the line coverage of the pure parts; fail below 90 %
	@$(KMARKERS) check coverage

check-long: setup ## run a million batches and ten minutes of storm on real cores, emulate ten million instructions
	@$(KMARKERS) check native --long

check-model: ## check the protocol exhaustively, as it is and with each step done wrong
	@python3 tests/model/run.py

check-mutants: setup ## break the code on purpose, and check that a test fails each time
	@$(KMARKERS) check mutants --model $(kernel)

check-coexist: setup ## change text beside kprobes, ftrace, live patches, CPUs that go offline, NMIs
	@$(KMARKERS) check coexist $(kernel)

soak: setup ## let everything that changes text go on at once for an hour, checked each minute (SECONDS=7200)
	@$(KMARKERS) check soak $(call option,SECONDS,--seconds) $(kernel)

check-processors: setup ## run tests on models of processors, with mitigations, CPUs, preemption models (K=6.1; MISSING=1)
	@$(KMARKERS) check processors $(call option,K,--kernel) $(call flag,MISSING,--missing)

check-tracers: setup ## record our trace events with trace-cmd, perf and bpftrace
	@$(KMARKERS) check tracers $(kernel)

check-target: setup ## interrupt measurements of a fleet in a test kernel: no module and no change stays
	@$(KMARKERS) check target $(kernel)

check-secureboot: setup ## boot with UEFI Secure Boot: signed modules work, unsigned ones are refused
	@$(KMARKERS) check secureboot $(kernel)

check-cet: setup ## enforce indirect branch tracking and shadow stacks, on a processor that Bochs emulates
	@$(KMARKERS) check cet $(kernel)

bench-many-files: setup ## measure what the sites of a module of 500 files cost when it is loaded and unloaded
	@$(KMARKERS) check many-files $(kernel)

check-fleet: ## measure what comparing the runs of 10,000 machines costs; fail above 60 s or 2 GB
	@scripts/setup --fleet
	@$(KMARKERS) check fleet

check-aa: setup native ## measure in 20 runs how often two copies of the same code differ
	@$(KMARKERS) check aa

# What dormant sites cost where they are hit most.
DORMANT := empty-loop memcpy-4096 density-empty density-full nop-encodings function-entry \
	sdt-dormant cold-icache-l1

check-bursts: setup native ## the same with dormant sites, beside a process that uses a core in bursts
	@$(KMARKERS) check aa --bursts --blocks 64 $(DORMANT)

check-estimators: setup ## judge the estimator by 2,000 simulated runs of each kind of noise
	@$(KMARKERS) check estimators

# YES=1 answers the question, FORCE=1 goes on where scripts/host would refuse.
host = scripts/host $(call flag,YES,-y) $(call flag,FORCE,-f)

load: modules ## load the modules into the running kernel (asks first, unless YES=1; BENCH=1: benchmarks, too)
	@$(host) load $(call flag,BENCH,--bench)

unload: ## unload them again (asks first, unless YES=1)
	@$(host) unload

bench-host: setup modules ## measure in the running kernel (asks first, unless YES=1)
	@$(host) bench

native: ## build the user-space program build/native/kmbench
	$(MAKE) -C native

man: native ## write the man pages to build/man
	@scripts/setup --packages
	@scripts/man

# Of the modules, those that "make modules" built are installed: no compiler runs as root.
install: ## install with DESTDIR, PREFIX, LIBDIR, KDIR (PARTS="command dev dkms modules": some of it)
	@scripts/install $(value PARTS)

uninstall: ## remove what "make install" with the same variables installed
	@scripts/install --remove $(value PARTS)

dist: ## write build/kmarkers-VERSION.tar.xz of the last commit, always the same bytes
	@scripts/package dist

deb: ## build Debian packages in build/deb
	@scripts/setup --packages
	@scripts/package deb

lint: ## run checkpatch, sparse, shellcheck, ruff, mypy; check floors, circles, names, sizes (TOOLS=house)
	@scripts/setup --lint
	@$(KMARKERS) check lint $(foreach tool,$(value TOOLS),$(call quoted,$(tool)))

clangd: setup ## write compile_commands.json, for clangd and other editors (K=...)
	@$(KMARKERS) lab commands $(kernel)

setup: ## install what is missing and fetch the default test kernel
	@scripts/setup $(call name)

# What git ignores in the directories of sources was built there by "make modules".
clean: ## remove what was built, but not the test kernels and the tools that were set up
	find . -path ./build -prune -o -path ./.git -prune -o -type f \( -name '*.o' -o -name '*.ko' \
		-o -name '*.mod' -o -name '*.mod.c' -o -name '*.cmd' -o -name '*.o.d' \
		-o -name Module.symvers -o -name modules.order \) -exec rm -f {} +
	[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name lab ! -name venv ! -name lint \
		! -name peers ! -name setup.lock -exec rm -rf {} +
	rm -f compile_commands.json

lab-clean: ## remove the test kernels
	$(KMARKERS) lab clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

# No target is a file.
.PHONY: $(shell sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))
