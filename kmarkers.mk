# SPDX-License-Identifier: GPL-2.0-only
# The Kbuild file of a module that uses kmarkers includes this file:
#
#	include $(KMARKERS)/kmarkers.mk
#
# with KMARKERS set to the directory of this file. This file adds the headers to the include
# path, and the symbols that our modules export to those that modpost knows.
#
# What is given to make itself wins over a makefile's "+=" otherwise.
kmarkers_add = $(if $(filter command,$(origin $1)),override )$1 += $2
# A marker names its source file from the module's folder on, wherever that is.
$(eval $(call kmarkers_add,ccflags-y,\
	-I$$(KMARKERS)/include -fmacro-prefix-map=$$(KBUILD_EXTMOD)/=))
KMARKERS_SYMVERS ?= $(KMARKERS)/Module.symvers
$(eval $(call kmarkers_add,KBUILD_EXTRA_SYMBOLS,$$(KMARKERS_SYMVERS)))
