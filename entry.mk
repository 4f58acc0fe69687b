# SPDX-License-Identifier: GPL-2.0-only
# The Kbuild file of a module whose functions are to be recorded includes this file:
#
#	include $(KMARKERS)/entry.mk
#
# with KMARKERS set to the directory of this file.  Each function that the kernel's own ftrace
# could trace then begins with a nop of 5 bytes, and has another one before each way out of it.
# Both are written down for the module kmarkers_entry, and not for the kernel's ftrace.  The
# client needs none of our modules to be loaded.  For entries without exits, set
# KMARKERS_ENTRY_EXITS to n before.  A file that is to be left to the kernel's ftrace:
#
#	CFLAGS_REMOVE_file.o := $(kmarkers_entry_flags)
#	CFLAGS_file.o := $(CC_FLAGS_FTRACE)
#
# The compiler emits a call of __fentry__ or __return__ at each place.  A macro of the assembler,
# in the header that is included first here, writes the nop instead.
ifdef CONFIG_CC_IS_CLANG
$(error entry.mk: clang has neither -minstrument-return nor a section of ours for -mfentry)
endif

# The kernel's ftrace finds the places that this option records.
# What is given to make itself wins over a makefile's "+=" otherwise.
kmarkers_add = $(if $(filter command,$(origin $1)),override )$1 += $2
$(eval $(call kmarkers_add,ccflags-remove-y,-mrecord-mcount))
kmarkers_entry_flags := -include$(KMARKERS)/include/kmarkers/entry_record.h
ifneq ($(KMARKERS_ENTRY_EXITS),n)
kmarkers_entry_flags += -minstrument-return=call
endif
$(eval $(call kmarkers_add,ccflags-y,\
	-pg -mfentry -I$$(KMARKERS)/include $$(kmarkers_entry_flags)))
