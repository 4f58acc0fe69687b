/* SPDX-License-Identifier: GPL-2.0-only */
/* Macros that expand the macro @what ten times, each time with another digit appended to @n. */
#ifndef TESTS_KERNEL_EACH_H
#define TESTS_KERNEL_EACH_H

/*
 * EACH_2, EACH_3 and EACH_4 are equal.  Three macros are needed because they are nested, and the
 * preprocessor does not expand a macro inside itself.
 */
#define EACH_1(what)							\
	what(0) what(1) what(2) what(3) what(4)				\
	what(5) what(6) what(7) what(8) what(9)
#define EACH_2(what, n)						\
	what(n##0) what(n##1) what(n##2) what(n##3) what(n##4)		\
	what(n##5) what(n##6) what(n##7) what(n##8) what(n##9)
#define EACH_3(what, n)						\
	what(n##0) what(n##1) what(n##2) what(n##3) what(n##4)		\
	what(n##5) what(n##6) what(n##7) what(n##8) what(n##9)
#define EACH_4(what, n)						\
	what(n##0) what(n##1) what(n##2) what(n##3) what(n##4)		\
	what(n##5) what(n##6) what(n##7) what(n##8) what(n##9)

#endif /* TESTS_KERNEL_EACH_H */
