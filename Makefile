# SPDX-License-Identifier: GPL-2.0-only
# The commands of kmarkers; "make help" lists them.

include scripts/directory.mk

# $(call quoted,TEXT) is the text as one word of the shell. $(call option,VARIABLE,OPTION) is
# OPTION=VALUE if the variable is set. $(call flag,VARIABLE,OPTION) is the option without a value,
# if the variable is set and is not 0. None of these functions expands a $ in the variable's value.
quoted = '$(subst ','\'',$(1))'
option = $(if $(value $(1)),$(2)=$(call quoted,$(value $(1))))
flag = $(if $(filter-out 0,$(value $(1))),$(2))
kernel = $(call option,K,--kernel)
name = $(if $(value K),$(1) $(call quoted,$(value K)))

KDIR ?= /lib/modules/$(shell uname -r)/build
kmarkers := scripts/kmarkers
# Ignore variables that a user may have exported for other source trees.
unexport KMARKERS KBUILD_OUTPUT KBUILD_EXTMOD KBUILD_EXTRA_SYMBOLS ARCH CROSS_COMPILE CDPATH
export PATH := $(CURDIR)/build/venv/bin:$(PATH)
# Variables of "make install", from make's command line or the environment.
export DESTDIR PREFIX LIBDIR ZSHDIR KDIR

modules: ## build the modules for this kernel (KDIR=DIR: headers in DIR)
	@test -e $(call quoted,$(KDIR))/Makefile || { \
		echo "modules: no kernel headers in" $(call quoted,$(KDIR))":" \
			"$$(scripts/host hint); or set KDIR" >&2; exit 2; }
	$(MAKE) -C $(call quoted,$(KDIR)) M=$(CURDIR) modules

bench: ## set up, measure, report (QUICK=1: short; RESUME=RUN: go on)
	@scripts/bench $(kernel) $(call flag,QUICK,--quick) $(call option,RESUME,--resume)

# "kmarkers check --list" lists the names of tests. "kmarkers check --setup" installs the tools that
# the tests need. It prints the tools that it cannot install, and skips the tests that need them.
# Variables on make's command line become options of tests.
given = $(if $(findstring command line,$(origin $(1))),$(call option,$(1),-o $(2)))
options = $(call given,SECONDS,seconds) $(call given,ROOT,root) $(call given,WHO,who) \
	$(call given,STEP,step) $(call given,QUICK,quick) $(call given,README,readme) \
	$(call given,TOOLS,tools) $(call given,MISSING,missing) $(call given,MUTANTS,mutants) \
	$(call given,RUNS,runs)
run = @command -v python3 >/dev/null || scripts/setup $(call name); $(kmarkers) check --setup

check: ## run the short set of tests (K=6.12: in kernel 6.12)
	$(run) $(kernel)

check-full: ## run the full set, as continuous integration does (30 minutes)
	$(run) --set=full $(kernel)

check-weekly: ## run the tests that a release has to pass
	$(run) --set=weekly

check-list: ## list the tests; "make check-NAME" runs a test or a group
	@$(kmarkers) check --list

check-%: force
	$(run) $(call quoted,$*) $(kernel) $(options)

fuzz coverage soak lint: force
	$(run) $@ $(kernel) $(options)
lint: ## run all linters (TOOLS="ruff mypy": only these two)
soak: ## patch kernel code in all ways for an hour (SECONDS=7200: two)
bench-many-files: check-many-files

force:

# YES=1 answers the question of scripts/host, FORCE=1 continues where scripts/host would refuse.
host = scripts/host $(call flag,YES,-y) $(call flag,FORCE,-f)

load: modules ## load the modules (YES=1: do not ask; BENCH=1: benchmarks, too)
	@$(host) load $(call flag,BENCH,--bench)

unload: ## unload the modules (YES=1: do not ask)
	@$(host) unload

bench-host: setup modules ## measure in this kernel (YES=1: do not ask; RESUME=RUN: go on)
	@$(host) bench $(call option,RESUME,--resume)

# "make -n" runs the second line, because it contains $(MAKE), and the first line, because of the +.
native: ## build the program build/native/kmbench
	+@mkdir -p build/native
	flock --no-fork build/native/.lock $(MAKE) -C native

man: native ## write the man pages to build/man
	@scripts/man

html: ## write the handbook to build/html
	@scripts/setup --html
	@$(kmarkers) publish html

# Installs only modules that "make modules" has built, so that no compiler runs as root.
install: ## install in PREFIX; scripts/install -h explains all variables
	@scripts/install $(value PARTS)

uninstall: ## remove what "make install" installed (give the same variables)
	@scripts/install --remove $(value PARTS)

dist: ## write build/kmarkers-VERSION.tar.xz of the last commit
	@scripts/package dist

deb: ## build Debian packages in build/deb
	@scripts/setup --packages
	@scripts/package deb

clangd: setup ## write compile_commands.json for editors (K=6.12: kernel 6.12)
	@$(kmarkers) lab compile-commands $(kernel)

setup: ## install missing tools and fetch the default test kernel
	@scripts/setup $(call name)

# Files in the source directories that git ignores were built there by "make modules".
clean: ## remove built files, but keep test kernels and tools
	find . -path ./build -prune -o -path ./.git -prune -o -type f \( -name '*.o' -o -name '*.ko' \
		-o -name '*.mod' -o -name '*.mod.c' -o -name '*.cmd' -o -name '*.o.d' \
		-o -name Module.symvers -o -name modules.order \) -exec rm -f {} +
	[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name lab ! -name venv ! -name lint \
		! -name page ! -name mutation ! -name fleet ! -name peers ! -name setup.lock \
		-exec rm -rf {} +
	rm -f compile_commands.json

lab-clean: ## remove the test kernels
	$(kmarkers) lab clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

# No target is a file.
.PHONY: $(shell sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))
