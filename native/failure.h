/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_FAILURE_H
#define NATIVE_FAILURE_H

/* Print on stderr that an operation failed with the error @err.  Return @err. */
int native_report_failure(const char *operation, int err);

#endif /* NATIVE_FAILURE_H */
