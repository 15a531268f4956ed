/* One group for the tests of proto/group, set up by hand as the AVG "a" of group "web". Time stands
 * still until a test moves it. */
#ifndef GROUP_RIG_H
#define GROUP_RIG_H

#include <check.h>

#include "proto/group/group.h"

#define RIG_TERM     7000
#define RIG_START_MS 1000000

struct rig {
    struct glbp_group *group;
    struct glbp_output out; /* events of the last rig_decide() */
    void *blocks[8];
    char text[8192];
};

/* Defaults of http.md section 3; "a" is there, live, eligible, weight 100, and its claim adopted.
 */
void rig_open(struct rig *rig, uint32_t max_members, uint32_t max_forwarders);
void rig_close(struct rig *rig);

/* A live eligible member of weight 100, priority 100; its url is http://NODE. */
struct glbp_member *rig_join(struct rig *rig, const char *node);
struct glbp_member *rig_member(struct rig *rig, const char *node);
void rig_lose(struct rig *rig, const char *node);
void rig_resign(struct rig *rig, const char *node);
void rig_return(struct rig *rig, const char *node);
void rig_flag(struct rig *rig, const char *node, uint32_t flag, bool on);
/* Silent, and its url refuses: nothing stands against moving its slots. */
void rig_kill(struct rig *rig, const char *node);

void rig_wait(struct rig *rig, uint64_t ms);
/* Decides as after an input that may matter. Returns true if a version was published. */
bool rig_decide(struct rig *rig);
/* Decides as on a tick: only if it is due by time. */
bool rig_tick(struct rig *rig);
/* rig_wait() and rig_tick() from deadline to deadline until `ms` are over. */
void rig_run(struct rig *rig, uint64_t ms);

/* "1 a/b 50 active 30000, 2 b/- 0 down": slot, owner/forwarder, share, state, remaining_ms if any.
 */
const char *rig_slots(struct rig *rig);
/* "a live, b lost". */
const char *rig_members(struct rig *rig);
/* Copies a text into a field that is large enough for it. */
void rig_copy(char *to, const char *text);
/* Events of that kind in the last output. */
size_t rig_events(const struct rig *rig, enum glbp_event_kind kind);

Suite *table_suite(void);
Suite *adopt_suite(void);
Suite *slots_suite(void);
Suite *takeover_suite(void);
Suite *weight_suite(void);
Suite *minority_suite(void);
Suite *pool_suite(void);
Suite *balance_suite(void);
Suite *url_suite(void);

#endif
