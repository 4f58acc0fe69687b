/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_TEXT_H
#define NATIVE_TEXT_H

int native_text_start(void);

#endif /* NATIVE_TEXT_H */
