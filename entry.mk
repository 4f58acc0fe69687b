# SPDX-License-Identifier: GPL-2.0-only
# Compiles a module so that kmarkers_entry can record the entries and exits of its functions.  The
# Kbuild file of the module sets KMARKERS to the directory of this file, and has the line
#
#	include $(KMARKERS)/entry.mk
#
# Each function that ftrace could trace then begins with a 5-byte nop, and has another nop before
# each return and tail call.  The addresses of the nops are recorded for kmarkers_entry, and not for
# the kernel's ftrace.  The module also loads and runs without kmarkers_entry.  To compile nops at
# entries only, set KMARKERS_ENTRY_EXITS to n before the include line.  To leave one source file to
# the kernel's ftrace, add to the Kbuild file:
#
#	CFLAGS_REMOVE_file.o := $(kmarkers_entry_flags)
#	CFLAGS_file.o := $(CC_FLAGS_FTRACE)
#
# The compiler emits a call of __fentry__ or __return__ at each of these places.  The -include
# option below adds an assembler macro named call, which writes the nop instead.
ifdef CONFIG_CC_IS_CLANG
$(error entry.mk: clang lacks -minstrument-return, which recorded functions need: use gcc)
endif

# Remove the option -mrecord-mcount, which records the entries for the kernel's ftrace.
# A variable that is set on make's command line ignores "+=" unless it has "override".
kmarkers_add = $(if $(filter command,$(origin $1)),override )$1 += $2
$(eval $(call kmarkers_add,ccflags-remove-y,-mrecord-mcount))
kmarkers_entry_flags := -include$(KMARKERS)/include/kmarkers/entry_record.h
ifneq ($(KMARKERS_ENTRY_EXITS),n)
kmarkers_entry_flags += -minstrument-return=call
endif
$(eval $(call kmarkers_add,ccflags-y,\
	-pg -mfentry -I$$(KMARKERS)/include $$(kmarkers_entry_flags)))
