// SPDX-License-Identifier: GPL-2.0-only
/* The twenty thousand functions of many.h, with sites of the kernel's own ftrace. */
#define MANY_ENTRY						\
	"1: call __fentry__\n"					\
	".pushsection __mcount_loc, \"a\", @progbits\n"		\
	"	.quad 1b\n"					\
	".popsection"

#include "entry/many.h"

MODULE_DESCRIPTION("Twenty thousand functions with sites of the kernel's ftrace");
