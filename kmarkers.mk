# SPDX-License-Identifier: GPL-2.0-only
# For the Kbuild file of a module that uses kmarkers:
#
#	include $(KMARKERS)/kmarkers.mk
#
# with KMARKERS the directory of this file. It adds the headers to the include
# path and the symbols that our modules export to those that modpost knows.
ccflags-y += -I$(KMARKERS)/include
KBUILD_EXTRA_SYMBOLS += $(KMARKERS)/Module.symvers
