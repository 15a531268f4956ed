#include "agent/check/judge.h"

bool glbp_judge_take(struct glbp_judge *judge, bool ok, uint32_t rise, uint32_t fall)
{
    enum glbp_verdict verdict = ok ? GLBP_VERDICT_UP : GLBP_VERDICT_DOWN;

    if (ok != judge->last_ok)
        judge->streak = 0;
    judge->last_ok = ok;
    /* Years of one result must not wrap into a change. */
    if (judge->streak < UINT32_MAX)
        judge->streak++;
    if (verdict == judge->verdict || judge->streak < (ok ? rise : fall))
        return false;
    /* The first verdict is a beginning, no change. */
    if (judge->verdict != GLBP_VERDICT_UNKNOWN)
        judge->changes++;
    judge->verdict = verdict;
    return true;
}

bool glbp_judge_is_open(const struct glbp_judge *judge)
{
    switch (judge->verdict) {
    case GLBP_VERDICT_UP:
        return !judge->last_ok;
    case GLBP_VERDICT_DOWN:
        return judge->last_ok;
    case GLBP_VERDICT_UNKNOWN:
        break;
    }
    return true;
}
