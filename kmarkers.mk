# SPDX-License-Identifier: GPL-2.0-only
# The Kbuild file of a module that uses kmarkers includes this file:
#
#	include $(KMARKERS)/kmarkers.mk
#
# with KMARKERS set to the directory of this file. This file adds the headers to the include
# path, and passes the exported symbols of the kmarkers modules to modpost.
#
# Append to a variable. A plain "+=" has no effect on a variable that is set on make's command line.
kmarkers_add = $(if $(filter command,$(origin $1)),override )$1 += $2
# Markers record __FILE__: make it relative to the module's directory.
$(eval $(call kmarkers_add,ccflags-y,\
	-I$$(KMARKERS)/include -fmacro-prefix-map=$$(KBUILD_EXTMOD)/=))
KMARKERS_SYMVERS ?= $(KMARKERS)/Module.symvers
$(eval $(call kmarkers_add,KBUILD_EXTRA_SYMBOLS,$$(KMARKERS_SYMVERS)))
