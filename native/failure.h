/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_FAILURE_H
#define NATIVE_FAILURE_H

/* Print on stderr what kmarkers_start() cannot do on this machine.  Return @err. */
int native_failed(const char *what, int err);

#endif /* NATIVE_FAILURE_H */
