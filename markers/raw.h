/* SPDX-License-Identifier: GPL-2.0-only */
/* Raw tracepoints of typed markers, to which BPF programs are attached; in the kernel only. */
#ifndef MARKERS_RAW_H
#define MARKERS_RAW_H

#ifdef CONFIG_BPF_EVENTS
void marker_raw_flush(void);
#else
static inline void marker_raw_flush(void)
{
}
#endif

#endif /* MARKERS_RAW_H */
