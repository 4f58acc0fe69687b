# SPDX-License-Identifier: GPL-2.0-only
# The Kbuild file of a module that uses kmarkers includes this file:
#
#	include $(KMARKERS)/kmarkers.mk
#
# with KMARKERS set to the directory of this file. This file adds the headers to the include
# path, and the symbols that our modules export to those that modpost knows.
ccflags-y += -I$(KMARKERS)/include
KMARKERS_SYMVERS ?= $(KMARKERS)/Module.symvers
KBUILD_EXTRA_SYMBOLS += $(KMARKERS_SYMVERS)
