/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of formats that tracers must decode correctly: a row for each conversion, flag, width,
 * precision, length and kind of pointer that a marker's format may have.
 *
 *	ROW(name, conversion, text, value, arguments...)
 *
 * The marker rd_NAME has this conversion in its format, followed by a fixed number, the sentinel:
 * a wrong sentinel shows that a tracer took too many or too few arguments.  The text is the
 * output of the kernel, or "?" if it is not known beforehand.  The value is an expression that a
 * filter of the event and a program of bpftrace must find true, or "" if another row tests this
 * type of field.
 */
#ifndef READERS_H
#define READERS_H

#define NUMBERS(ROW)							\
	ROW(d, "%d", "-3", "arg1 == -3", -3)				\
	ROW(i, "%i", "7", "", 7)					\
	ROW(u, "%u", "4000000000", "arg1 == 4000000000", 4000000000U)	\
	ROW(x, "%x", "beef", "", 0xbeef)				\
	ROW(capital, "%X", "BEEF", "", 0xbeef)				\
	ROW(o, "%o", "10", "", 8)					\
	ROW(hhd, "%hhd", "-3", "arg1 == -3", -3)			\
	ROW(hhu, "%hhu", "200", "arg1 == 200", 200)			\
	ROW(hd, "%hd", "-300", "arg1 == -300", -300)			\
	ROW(hu, "%hu", "60000", "arg1 == 60000", 60000)			\
	ROW(hx, "%hx", "beef", "", 0xbeef)				\
	ROW(ld, "%ld", "-3000000000", "arg1 == -3000000000", -3000000000L) \
	ROW(lu, "%lu", "3000000000", "arg1 == 3000000000", 3000000000UL) \
	ROW(lld, "%lld", "-5", "", -5LL)				\
	ROW(llx, "%llx", "beefbeefbeef", "", 0xbeefbeefbeefULL)		\
	ROW(Lx, "%Lx", "cd", "", 0xcdLL)				\
	ROW(zd, "%zd", "-3", "", (ssize_t)-3)				\
	ROW(zu, "%zu", "7", "", (size_t)7)				\
	ROW(td, "%td", "-3", "arg1 == -3", (ptrdiff_t)-3)		\
	ROW(tx, "%tx", "ff", "", (ptrdiff_t)255)			\
	ROW(percent, "5%% %d", "5% 3", "arg1 == 3", 3)			\
	ROW(percent_wide, "5%5% %d", "5% 3", "", 3)			\
	ROW(words, "asm %d typeof %d unix %d linux %d unroll %d",	\
	    "asm 1 typeof 2 unix 3 linux 4 unroll 5", "arg1 == 1 && arg5 == 5", 1, 2, 3, 4, 5) \
	ROW(twice, "arg2 %d %d", "arg2 1 2", "arg1 == 1 && arg2 == 2", 1, 2) \
	ROW(lttng, "ip #p%ld", "ip #p7", "ip == 7", 7L)			\
	ROW(quotes, "\"q\" \\ 'z' %d", "\"q\" \\ 'z' 3", "", 3)		\
	ROW(script, "gr\xc3\xb6\xc3\x9f" "e %d", "gr\xc3\xb6\xc3\x9f" "e 3", "arg1 == 3", 3)

#define FLAGS(ROW)							\
	ROW(width, "%5d", "   -3", "", -3)				\
	ROW(left, "%-5d.", "-3   .", "", -3)				\
	ROW(zero, "%05d", "-0003", "", -3)				\
	ROW(precision, "%.3d", "-003", "", -3)				\
	ROW(both, "%8.3d", "     005", "", 5)				\
	ROW(zero_both, "%08.3d", "00000005", "", 5)			\
	ROW(zero_below, "%08.3d", "-0000005", "", -5)			\
	ROW(zero_less, "%03.8d", "-00000005", "", -5)			\
	ROW(zero_same, "%03.3d", "-005", "", -5)			\
	ROW(precision_0, "%.0d", "0", "", 0)				\
	ROW(plus, "%+d", "+3", "arg1 == 3", 3)				\
	ROW(plus_below, "%+d", "-3", "", -3)				\
	ROW(plus_none, "%+d", "+0", "", 0)				\
	ROW(plus_long, "%+ld", "-3", "", -3L)				\
	ROW(plus_short, "%+hd", "-3", "", -3)				\
	ROW(plus_char, "%+hhd", "-3", "", -3)				\
	ROW(plus_precise, "%+.3d", "+003", "", 3)			\
	ROW(plus_star, "%+.*d", "+003", "", 3, 3)			\
	ROW(plus_unsigned, "%+u", "3", "", 3U)				\
	ROW(plus_wide, "%+5d", "   +3", "", 3)				\
	ROW(plus_zero, "%+05d", "+0003", "", 3)				\
	ROW(blank, "% d", " 3", "arg1 == 3", 3)				\
	ROW(blank_below, "% d", "-3", "", -3)				\
	ROW(blank_plus, "% +d", "+3", "", 3)				\
	ROW(blank_wide, "% 5d", "    3", "", 3)				\
	ROW(hash, "%#x", "0xff", "", 255)				\
	ROW(hash_none, "%#x", "0x0", "", 0)				\
	ROW(hash_capital, "%#X", "0XFF", "", 255)			\
	ROW(hash_octal, "%#o", "010", "", 8)				\
	ROW(hash_octal_0, "%#o", "0", "", 0)				\
	ROW(hash_zero, "%#06x", "0x00ff", "", 255)			\
	ROW(hash_zero_0, "%#06x", "0x0000", "", 0)			\
	ROW(hash_wide, "%#6x", "  0xff", "", 255)			\
	ROW(hash_wide_0, "%#6x", "   0x0", "", 0)			\
	ROW(hash_left, "%#-6x.", "0xff  .", "", 255)			\
	ROW(hash_left_0, "%#-6x.", "0x0   .", "", 0)			\
	ROW(hash_8o, "%#08o", "00000010", "", 8)			\
	ROW(hash_3o, "%#.3o", "0010", "", 8)				\
	ROW(hash_3x, "%#.3x", "0x00f", "", 15)				\
	ROW(hash_83x, "%#8.3x", "   0x00f", "", 15)			\
	ROW(hash_083x, "%#08.3x", "0x00000f", "", 15)			\
	ROW(hash_long, "%#018lX", "0X00000000000000FF", "", 255L)

#define STARS(ROW)							\
	ROW(star, "%*d", "    3", "arg1 == 5 && arg2 == 3", 5, 3)	\
	ROW(star_below, "%*d", "3    ", "arg1 == -5 && arg2 == 3", -5, 3) \
	ROW(star_left, "%-*d.", "3    .", "", 5, 3)			\
	ROW(star_zero, "%0*d", "00003", "", 5, 3)			\
	ROW(star_long, "%*ld", "    3", "", 5, 3L)			\
	ROW(star_hash, "%#*x", "   0xf", "", 6, 15)			\
	ROW(star_precise, "%.*d", "007", "", 3, 7)			\
	ROW(star_precise_below, "%.*d", "7", "", -3, 7)			\
	ROW(stars, "%*.*d", "   007", "arg1 == 6 && arg2 == 3 && arg3 == 7", 6, 3, 7) \
	ROW(star_zero_precise, "%08.*d", "00000007", "", 3, 7)		\
	ROW(star_zero_more, "%03.*d", "00000007", "", 8, 7)		\
	ROW(star_zero_wide, "%0*.3d", "000007", "", 6, 7)		\
	ROW(star_char, "%*c", "  x", "", 3, 'x')			\
	ROW(star_string, "%*s", "    ab", "", 6, "ab")			\
	ROW(star_string_left, "%-*s.", "ab    .", "", 6, "ab")		\
	ROW(star_string_cut, "%.*s", "abc", "arg1 == 3 && arg2 == \"abc\"", 3, "abcdef") \
	ROW(star_string_whole, "%.*s", "abcdef", "", -3, "abcdef")	\
	ROW(star_string_both, "%*.*s", "    ab", "", 6, 2, "abc")	\
	ROW(star_pointer, "%*p", "?", "arg1 == 5", 5, (void *)0x1234)	\
	ROW(star_symbol, "%*ps", "schedule", "", 5, (void *)schedule)

#define STRINGS(ROW)							\
	ROW(c, "%c", "x", "arg1 == 120", 'x')				\
	ROW(c_wide, "%5c", "    x", "", 'x')				\
	ROW(c_left, "%-5c.", "x    .", "", 'x')				\
	ROW(c_long, "%lc", "x", "", 'x')				\
	ROW(c_none, "%c.", ".", "", 0)					\
	ROW(s, "%s", "text", "arg1 == \"text\"", "text")		\
	ROW(s_wide, "%6s", "    ab", "", "ab")				\
	ROW(s_left, "%-6s.", "ab    .", "", "ab")			\
	ROW(s_zero, "%06s", "    ab", "", "ab")				\
	ROW(s_cut, "%.3s", "abc", "arg1 == \"abc\"", "abcdef")		\
	ROW(s_both, "%5.2s", "   gh", "", "ghi")			\
	ROW(s_long, "%ls", "text", "", "text")				\
	ROW(s_short, "%hs", "text", "", "text")				\
	ROW(s_empty, "%5s.", "     .", "", "")				\
	ROW(s_percent, "%s", "5%d \\ \"q\"", "", "5%d \\ \"q\"")	\
	ROW(s_null, "%s", "(null)", "", (char *)NULL)			\
	ROW(s_null_cut, "%.2s", "(n", "", (char *)NULL)			\
	ROW(s_fault, "%s", "(fault)", "", (char *)0x10)			\
	ROW(s_fault_cut, "%.3s", "(fa", "", (char *)0x10)

#define POINTERS(ROW)							\
	ROW(p, "%p", "?", "arg1 == 4660", (void *)0x1234)		\
	ROW(p_plain, "%px", "?", "", (void *)0x1234)			\
	ROW(p_wide, "%20p", "?", "", (void *)0x1234)			\
	ROW(p_unknown, "%pI4", "?", "", (void *)0x1234)			\
	ROW(p_percent, "%p%%", "?", "", (void *)0x1234)			\
	ROW(p_star, "%*ph", "?", "", 4, (void *)0x1234)			\
	ROW(ps, "%ps", "schedule", "", (void *)schedule)		\
	ROW(pS, "%pS", "?", "", (void *)schedule + 4)			\
	ROW(pB, "%pB", "?", "", (void *)schedule + 4)			\
	ROW(mac, "%pM", "00:1f:a0:ff:05:60", "", bytes)			\
	ROW(mac_plain, "%pm", "001fa0ff0560", "", bytes)		\
	ROW(ph, "%4ph", "00 1f a0 ff", "", bytes)			\
	ROW(ph_none, "%4phN", "001fa0ff", "", bytes)			\
	ROW(ph_colon, "%4phC", "00:1f:a0:ff", "", bytes)		\
	ROW(ph_dash, "%4phD", "00-1f-a0-ff", "", bytes)			\
	ROW(ph_six, "%6phC", "00:1f:a0:ff:05:60", "", bytes)		\
	ROW(ph_fault, "%4ph", "00 00 00 00", "", (void *)0x10)

#endif /* READERS_H */
