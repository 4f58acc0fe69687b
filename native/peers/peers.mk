# SPDX-License-Identifier: GPL-2.0-only
# Builds each peer (a probe mechanism of another tracer) whose package is installed.  If a package is
# not installed, scripts/setup unpacks it into PEER_ROOT.
PEER_ROOT := $(abspath ../build/peers)
PEER_LIBS := $(wildcard $(PEER_ROOT)/usr/lib/x86_64-linux-gnu)
PEER_FLAGS := $(if $(PEER_LIBS),$(addprefix -isystem $(PEER_ROOT)/usr/include,/ /x86_64-linux-gnu))
# With this rpath, the peer and its libraries find the unpacked libraries at run time.
LTTNG_LIBS := $(PEER_LIBS:%=-L%) $(PEER_LIBS:%=-Wl,--disable-new-dtags,-rpath,%) -llttng-ust -ldl
# The variable holds the character #, because in a function, make 4.3 and later keep the backslash
# of \#.
hash := \#
has_header = $(shell echo '$(hash)include <$(1)>' | $(CC) $(PEER_FLAGS) -E -x c - >/dev/null 2>&1 && echo yes)
PEERS := $(if $(call has_header,lttng/tracepoint.h),$(OUT)/peer-lttng-ust.so) \
	 $(if $(call has_header,sys/sdt.h),$(OUT)/peer-sdt.so) $(OUT)/peer-uprobe-optimised.so

peers: $(PEERS)

$(OUT)/peer-lttng-ust.so: peers/lttng_ust.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PEER_FLAGS) -DLTTNG_ROOT='"$(if $(PEER_LIBS),$(PEER_ROOT))"' -fpic -Ipeers $(EXTRA) \
		-MMD -MP -MF $@.d -shared -o $@ $< $(LTTNG_LIBS)

$(OUT)/peer-sdt.so: peers/sdt.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PEER_FLAGS) -fpic $(EXTRA) -MMD -MP -MF $@.d -shared -o $@ $<

$(OUT)/peer-uprobe-optimised.so: peers/uprobe.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -mno-red-zone -fpic $(EXTRA) -MMD -MP -MF $@.d -shared -o $@ $<
