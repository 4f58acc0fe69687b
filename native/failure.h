/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_FAILURE_H
#define NATIVE_FAILURE_H

/* Print on stderr the operation @what that failed, and its error @err.  Return @err. */
int native_report_failure(const char *what, int err);

#endif /* NATIVE_FAILURE_H */
