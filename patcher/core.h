/* SPDX-License-Identifier: GPL-2.0-only */
/* Sites of core text, for those who have registered one. */
#ifndef PATCHER_CORE_H
#define PATCHER_CORE_H

struct patcher_core_site;

/* May this one be written now? */
int patcher_core_vet(const struct patcher_core_site *core);

#endif /* PATCHER_CORE_H */
