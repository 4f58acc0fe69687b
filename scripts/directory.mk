# SPDX-License-Identifier: GPL-2.0-only
# Stops make with an error if the path of this directory contains a blank or another character that
# makefiles, including those of Kbuild, cannot handle in a file name. Options of gcc such as
# -Wp,-MMD,FILE end a name at a comma.
hash := \#
comma := ,
odd := $(strip $(foreach each,: % ; ' & " $(hash) $$ ( ) * ? [ ] < > | ` \ $(comma),$(findstring $(each),$(CURDIR))) \
	$(if $(filter-out 1,$(words $(CURDIR))),blank))
ifneq ($(odd),)
$(error the path of this directory contains a $(firstword $(odd)), which make cannot handle: move the directory: $(CURDIR))
endif
