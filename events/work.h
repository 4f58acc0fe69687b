/* SPDX-License-Identifier: GPL-2.0-only */
/* Workqueue of the trace events, and their periodic check; in the kernel only. */
#ifndef EVENTS_WORK_H
#define EVENTS_WORK_H

#include <linux/workqueue.h>

int kmarkers_event_create_workqueue(work_func_t check);
void kmarkers_event_destroy_workqueue(void);
void kmarkers_event_queue_work(struct work_struct *work);
void kmarkers_event_queue_check_work(void);
void kmarkers_event_queue_retry(void);
bool kmarkers_event_take_retry(void);
void kmarkers_event_flush_workqueue(void);

#endif /* EVENTS_WORK_H */
