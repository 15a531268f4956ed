#include "proto/wire/reject.h"

const char *glbp_reject_name(enum glbp_reject reason)
{
#define GLBP_REJECT_NAME(name, counter, text) [name] = counter,
    static const char *const names[] = {[GLBP_ACCEPTED] = "accepted",
                                        GLBP_REJECTS(GLBP_REJECT_NAME)};
#undef GLBP_REJECT_NAME

    return (unsigned)reason < GLBP_REJECT_COUNT_ ? names[reason] : "?";
}

const char *glbp_reject_text(enum glbp_reject reason)
{
#define GLBP_REJECT_TEXT(name, counter, text) [name] = text,
    static const char *const texts[] = {[GLBP_ACCEPTED] = "accepted",
                                        GLBP_REJECTS(GLBP_REJECT_TEXT)};
#undef GLBP_REJECT_TEXT

    return (unsigned)reason < GLBP_REJECT_COUNT_ ? texts[reason] : "?";
}
