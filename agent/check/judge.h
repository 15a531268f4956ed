/* Rise and fall: what a row of results makes of a check (http.md section 5). Pure. */
#ifndef GLBP_JUDGE_H
#define GLBP_JUDGE_H

#include "agent/check/checks.h"

/* Zeroed at first: unknown. */
struct glbp_judge {
    enum glbp_verdict verdict;
    bool last_ok;
    uint32_t streak; /* results in a row like the last one, capped */
    uint64_t changes;
};

/* Takes one result: `rise` good ones in a row make it up, `fall` bad ones down (both >= 1). Returns
 * true if the verdict is another than before. */
bool glbp_judge_take(struct glbp_judge *judge, bool ok, uint32_t rise, uint32_t fall);

/* True while the verdict is open: unknown yet, or the last result speaks against it. Such a check
 * runs at its fast interval. */
bool glbp_judge_is_open(const struct glbp_judge *judge);

#endif
