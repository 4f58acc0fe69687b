# SPDX-License-Identifier: GPL-2.0-only
# Refuses a directory that makefiles cannot name, those of the kernel and of users included.
hash := \#
odd := $(strip $(foreach each,: % ; ' & " $(hash) $$ ( ) * ? [ ] < > | ` \,$(findstring $(each),$(CURDIR))) \
	$(if $(filter-out 1,$(words $(CURDIR))),blank))
ifneq ($(odd),)
$(error this directory's name holds a $(firstword $(odd)), which make cannot work with; move it: $(CURDIR))
endif
