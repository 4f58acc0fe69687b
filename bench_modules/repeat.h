/* SPDX-License-Identifier: GPL-2.0-only */
/* Repeat statements 4, 16 or 64 times in the source, without a loop. */
#ifndef BENCH_MODULES_REPEAT_H
#define BENCH_MODULES_REPEAT_H

#define REPEAT_4(...)	__VA_ARGS__; __VA_ARGS__; __VA_ARGS__; __VA_ARGS__
#define REPEAT_16(...)							\
	REPEAT_4(__VA_ARGS__); REPEAT_4(__VA_ARGS__);			\
	REPEAT_4(__VA_ARGS__); REPEAT_4(__VA_ARGS__)
#define REPEAT_64(...)							\
	REPEAT_16(__VA_ARGS__); REPEAT_16(__VA_ARGS__);			\
	REPEAT_16(__VA_ARGS__); REPEAT_16(__VA_ARGS__)

#endif /* BENCH_MODULES_REPEAT_H */
