// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the fields of trace events, which are derived from the declared types of SDT probes. */
#include <string.h>

#include <linux/kernel.h>

#include <kmarkers/sdt.h>

#include "../../sdt/types.h"
#include "sdt_types.h"

/* Return true if the format of the event for @types is "site %pS", followed by @wanted. */
static bool fmt_is(unsigned int nr, const char *types, const char *wanted)
{
	const struct sdt_probe probe = { .types = types, .nr = nr };
	char format[SDT_FORMAT];

	sdt_make_event_format(format, &probe);
	return !strncmp(format, "site %pS", 8) && !strcmp(format + 8, wanted);
}

static const char *sdt_formats_of_integer_types(void)
{
	EXPECT(fmt_is(0, "", ""));
	EXPECT(fmt_is(2, "int,unsigned int", " arg1 %d arg2 %u"));
	EXPECT(fmt_is(3, "unsigned, long ,  unsigned long long", " arg1 %u arg2 %ld arg3 %lu"));
	EXPECT(fmt_is(3, "char,unsigned char,short int", " arg1 %hhd arg2 %hhu arg3 %hd"));
	EXPECT(fmt_is(2, "signed char,signed", " arg1 %hhd arg2 %d"));
	EXPECT(fmt_is(3, "u8,int16_t,size_t", " arg1 %hhu arg2 %hd arg3 %lu"));
	EXPECT(fmt_is(2, "enum req_op,const volatile s64", " arg1 %d arg2 %ld"));
	EXPECT(fmt_is(2, "struct thing,double", " arg1 %lx arg2 %lx"));
	EXPECT(fmt_is(4, "const pid_t,u8 const,volatile  gfp_t,const unsigned  char",
		      " arg1 %d arg2 %hhu arg3 %u arg4 %hhu"));
	EXPECT(fmt_is(2, "const,const volatile", " arg1 %lx arg2 %lx"));
	EXPECT(fmt_is(2, "interval_t,bool", " arg1 %lx arg2 %hhu"));
	return NULL;
}

static const char *sdt_formats_of_pointer_types(void)
{
	EXPECT(fmt_is(2, "struct request *,void *", " arg1 %p arg2 %p"));
	EXPECT(fmt_is(3, "char *,const char *,const char*", " arg1 %s arg2 %s arg3 %s"));
	EXPECT(fmt_is(3, "unsigned char *,u8 *,signed char *", " arg1 %p arg2 %p arg3 %p"));
	EXPECT(fmt_is(2, "char **,char __user *", " arg1 %p arg2 %p"));
	EXPECT(fmt_is(2, "void (*)(int, char *),int", " arg1 %p arg2 %d"));
	EXPECT(fmt_is(1, "char *(*)(void)", " arg1 %p"));
	return NULL;
}

/* Check the fields of probes that have more, fewer or as many declared types as arguments. */
static const char *sdt_formats_have_a_field_for_each_argument(void)
{
	EXPECT(fmt_is(1, "int,int", " arg1 %d"));
	EXPECT(fmt_is(3, "int", " arg1 %d arg2 %lx arg3 %lx"));
	EXPECT(fmt_is(2,
		      "a_name_that_is_longer_than_any_that_a_declared_type_of_ours_may_ever_have,int",
		      " arg1 %lx arg2 %d"));
	EXPECT(fmt_is(7, "bool,bool,bool,bool,bool,bool,bool",
		      " arg1 %hhu arg2 %hhu arg3 %hhu arg4 %hhu arg5 %hhu arg6 %hhu arg7 %hhu"));
	return NULL;
}

const struct test_case sdt_types_cases[] = {
	{ "sdt_formats_of_integer_types", sdt_formats_of_integer_types, NULL },
	{ "sdt_formats_of_pointer_types", sdt_formats_of_pointer_types, NULL },
	{ "sdt_formats_have_a_field_for_each_argument", sdt_formats_have_a_field_for_each_argument,
	  NULL },
};

const unsigned int sdt_types_nr_cases = ARRAY_SIZE(sdt_types_cases);
