/* The checks thread with a config made by hand, everything that it tells recorded, and a loop that
 * runs until something has come. One rig a test: libcheck gives each test a process of its own. */
#ifndef GLBP_CHECK_RIG_H
#define GLBP_CHECK_RIG_H

#include <check.h>

#include "agent/check/checks.h"
#include "tests/unit/check_server.h"

#define RIG_CHECKS_MAX  8
#define RIG_RECORDS_MAX 4096

struct rig_check { /* the state of one check as told last */
    char name[64];
    unsigned runs, changes_told;
    uint64_t changes;
    enum glbp_verdict verdict;
    char text[200];
    uint64_t at_ms; /* of the last run */
};

struct rig_probe {
    char node[GLBP_NODE_SIZE];
    enum glbp_probe_result result;
    uint64_t at_ms;
};

struct rig {
    uv_loop_t loop;
    uv_timer_t beat;
    struct glbp_checks *checks;

    struct glbp_config config;
    struct glbp_group_section groups[2]; /* ids 10 and 11; one is used unless config says two */
    struct glbp_check_config check_configs[2][RIG_CHECKS_MAX];
    uint32_t expect_200;

    struct glbp_health health[2];
    unsigned healths[2]; /* how often told */
    size_t checks_n;
    struct rig_check seen[2 * RIG_CHECKS_MAX];
    size_t probes_n;
    struct rig_probe probes[RIG_RECORDS_MAX];
    unsigned resolved;
    char resolved_host[64];
    size_t resolved_n;
    struct glbp_addr resolved_first;
};

extern struct rig rig;

void rig_open(void);  /* the loop; a config without checks and peers */
void rig_start(void); /* the thread */
void rig_close(void); /* stops it, and proves that nothing is left in the loop */

/* Adds a check to group 0 or 1: interval 200, fast 50, time-out 1000, rise 2, fall 2, decrement 10,
 * HEAD, 200, verify. */
struct glbp_check_config *rig_add(size_t group, const char *name, enum glbp_check_kind kind,
                                  const char *target);
struct glbp_check_config *rig_add_http(size_t group, const char *name, uint16_t port);

/* Runs the loop until the condition holds; fails after `ms`. */
#define rig_until(ms, condition)                                                                   \
    do {                                                                                           \
        uint64_t rig_end_ms = rig_now_ms() + (ms);                                                 \
        while (!(condition)) {                                                                     \
            if (rig_now_ms() > rig_end_ms)                                                         \
                ck_abort_msg("not within %d ms: %s", (int)(ms), #condition);                       \
            uv_run(&rig.loop, UV_RUN_ONCE);                                                        \
        }                                                                                          \
    } while (0)
void rig_run(unsigned ms);
uint64_t rig_now_ms(void);

const struct rig_check *rig_check(const char *name);      /* zero if nothing was told yet */
bool rig_is(const char *name, enum glbp_verdict verdict); /* the group's health comes after it */
unsigned rig_runs(const char *name);

const char *rig_url(uint16_t port, const char *path); /* of 127.0.0.1; static, four at a time */
void rig_probe(const char *node, const char *url, uint32_t timeout_ms);

/* The last line that was logged, "" none; how many there were. */
const char *rig_logged(void);
unsigned rig_logged_n(void);

/* Look-ups, which the rig answers itself: "bff.test" is 127.0.0.1; "two.test" 127.0.0.3 and
 * 127.0.0.2; "no.test" does not exist; "hang.test" hangs until rig_unhang(); "late.test" does not
 * exist until rig_unhang(). Whoever asks for anything else fails the test. */
struct rig_lookups {
    unsigned begun, running, running_max;
};
struct rig_lookups rig_lookups(void);
void rig_unhang(void);

/* A stat() of this path hangs until rig_unhang(), then says that nothing is there. */
#define RIG_HANGING_PATH "/hanging"
unsigned rig_stats(void); /* how many do */

/* While set, the loop can watch no descriptor of a request: no memory. */
void rig_lack_watches(bool lack);

unsigned rig_descriptors(void); /* open ones of this process */

Suite *check_http_suite(void);
Suite *check_kinds_suite(void);
Suite *check_reload_suite(void);
Suite *check_probe_suite(void);
Suite *check_names_suite(void);
Suite *check_tls_suite(void);
Suite *check_worker_suite(void);
Suite *job_suite(void);
Suite *net_suite(void);
Suite *net_unicast_suite(void);
Suite *net_link_suite(void);

#endif
