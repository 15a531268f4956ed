#include "agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/clock.h"
#include "agent/config/ownaddr.h"
#include "agent/inside.h"

#define REFRESH_MS 100
/* Before a tick the socket is drained (protocol.md section 4). A flood must not put the tick off
 * for ever: after so many rounds of GLBP_NET_READ_MAX, more than a socket's buffer holds, it runs.
 */
#define DRAINS_MAX 16

/* ---- steps ---- */

/* No callback takes more of the loop than 10 ms of its own CPU time (architecture.md, Threads):
 * kept for /status, and asserted in the sanitizer build, with what the sanitizers cost. A guest's
 * CPU time runs on while its host runs something else, so one or two may be no fault of ours: code
 * that is slow is slow again. */
static void account(struct glbp_agent *agent, uint64_t begin_us)
{
    uint64_t spent_us = glbp_clock_thread_cpu_us() - begin_us;
    if (spent_us > agent->counters.callback_us_max)
        agent->counters.callback_us_max = spent_us;
#ifdef GLBP_CALLBACK_US_MAX
    static unsigned too_long;
    too_long += spent_us > GLBP_CALLBACK_US_MAX;
    GLBP_ASSERT(too_long < 3);
#endif
}

static void on_deadline(uv_timer_t *timer);

static void arm(struct glbp_agent *agent)
{
    uint64_t due_ms = GLBP_NEVER_MS;
    for (size_t i = 0; i < agent->groups_n; i++) {
        uint64_t group_ms = glbp_group_next_deadline_ms(agent->groups[i].group);
        if (group_ms < due_ms)
            due_ms = group_ms;
    }
    if (due_ms == agent->deadline_ms)
        return;
    agent->deadline_ms = due_ms;
    (void)uv_timer_stop(&agent->deadline);
    if (due_ms == GLBP_NEVER_MS)
        return;
    uint64_t now_ms = glbp_clock_mono_ms();
    uv_update_time(&agent->loop); /* else a timer armed late in a pass fires early */
    (void)uv_timer_start(&agent->deadline, on_deadline, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

int glbp_agent_step(struct glbp_agent *agent, struct glbp_agent_group *group,
                    struct glbp_input *input)
{
    uint64_t begin_us = glbp_clock_thread_cpu_us();
    input->now = glbp_clock_now();
    int result = glbp_group_step(group->group, input, &agent->out);
    glbp_agent_dispatch(agent, group);
    account(agent, begin_us);
    return result;
}

struct glbp_agent_group *glbp_agent_group_by_id(struct glbp_agent *agent, uint32_t id)
{
    for (size_t i = 0; i < agent->groups_n; i++)
        if (glbp_group_config(agent->groups[i].group)->id == id)
            return &agent->groups[i];
    return NULL;
}

struct glbp_agent_group *glbp_agent_group_by_word(struct glbp_agent *agent, const char *word)
{
    for (size_t i = 0; i < agent->groups_n; i++)
        if (strcmp(glbp_group_config(agent->groups[i].group)->name, word) == 0)
            return &agent->groups[i];
    char *end;
    unsigned long id = strtoul(word, &end, 10);
    if (*word < '0' || *word > '9' || *end != '\0' || id > GLBP_GROUP_ID_MAX)
        return NULL;
    return glbp_agent_group_by_id(agent, (uint32_t)id);
}

static void on_deadline(uv_timer_t *timer)
{
    struct glbp_agent *agent = timer->data;
    uint64_t now_ms = glbp_clock_mono_ms();
    if (now_ms < agent->deadline_ms) { /* libuv's clock stands still in a suspend, and rounds */
        agent->deadline_ms = GLBP_NEVER_MS;
        arm(agent);
        return;
    }
    uint64_t late_ms = now_ms - agent->deadline_ms;
    if (late_ms > agent->counters.loop_late_ms_max)
        agent->counters.loop_late_ms_max = late_ms;
    if (!glbp_net_drain(agent->net) && ++agent->drains < DRAINS_MAX) {
        (void)uv_timer_start(timer, on_deadline, 0, 0);
        return;
    }
    agent->drains = 0;
    agent->deadline_ms = GLBP_NEVER_MS;
    for (size_t i = 0; i < agent->groups_n; i++) {
        struct glbp_input input = {.kind = GLBP_IN_TICK};
        if (glbp_group_next_deadline_ms(agent->groups[i].group) <= now_ms)
            (void)glbp_agent_step(agent, &agent->groups[i], &input);
    }
    arm(agent);
}

static void on_datagram(void *ctx, const uint8_t *bytes, size_t len, const struct glbp_addr *from)
{
    struct glbp_agent *agent = ctx;
    struct glbp_now now = glbp_clock_now();
    struct glbp_input input = {.kind = GLBP_IN_DATAGRAM};
    enum glbp_kind kind;
    uint32_t id;
    bool is_signed = false;

    agent->counters.received++;
    enum glbp_reject reason =
        glbp_envelope_open(agent->keychain, now.wall_ms, bytes, len, &is_signed);
    if (reason == GLBP_ACCEPTED)
        reason = glbp_message_peek(bytes + GLBP_HEADER_LEN, len - GLBP_HEADER_LEN, &kind, &id);
    struct glbp_agent_group *group =
        reason == GLBP_ACCEPTED ? glbp_agent_group_by_id(agent, id) : NULL;
    if (reason == GLBP_ACCEPTED && group == NULL)
        reason = GLBP_REJECT_GROUP;
    if (reason != GLBP_ACCEPTED) {
        glbp_agent_refused(agent, NULL, reason, from);
        return;
    }
    input.as.datagram.payload = bytes + GLBP_HEADER_LEN;
    input.as.datagram.len = len - GLBP_HEADER_LEN;
    input.as.datagram.from = *from;
    input.as.datagram.is_signed = is_signed;
    input.as.datagram.known_source = is_signed || glbp_net_known_source(agent->net, from);
    if (glbp_agent_step(agent, group, &input) == GLBP_E_REJECT) {
        glbp_agent_refused(agent, group, agent->out.reject, from);
        if (is_signed)
            glbp_agent_heed(agent, group, agent->out.reject, from);
    }
    arm(agent);
}

static void on_link(void *ctx, enum glbp_link link, const struct glbp_addr *own)
{
    struct glbp_agent *agent = ctx;
    if (own != NULL && glbp_ownaddr_apply(agent->config, own))
        glbp_agent_configure(agent);
    for (size_t i = 0; i < agent->groups_n; i++) {
        struct glbp_input input = {.kind = GLBP_IN_LINK};
        input.as.link.link = link;
        if (own != NULL)
            input.as.link.addr = *own;
        (void)glbp_agent_step(agent, &agent->groups[i], &input);
    }
    arm(agent);
}

/* ---- answers of the checks thread ---- */

static void on_health(void *ctx, uint32_t group_id, const struct glbp_health *health)
{
    struct glbp_agent *agent = ctx;
    struct glbp_agent_group *group = glbp_agent_group_by_id(agent, group_id);
    struct glbp_input input = {.kind = GLBP_IN_HEALTH};
    if (group == NULL)
        return;
    input.as.health = *health;
    (void)glbp_agent_step(agent, group, &input);
    arm(agent);
}

static void on_check(void *ctx, const struct glbp_check_report *report)
{
    glbp_agent_track(ctx, report);
}

static void on_probe(void *ctx, uint32_t group_id, const char *node, enum glbp_probe_result result)
{
    struct glbp_agent *agent = ctx;
    struct glbp_agent_group *group = glbp_agent_group_by_id(agent, group_id);
    struct glbp_input input = {.kind = GLBP_IN_PROBE};
    if (group == NULL)
        return;
    (void)snprintf(input.as.probe.node, sizeof(input.as.probe.node), "%s", node);
    input.as.probe.result = result;
    (void)glbp_agent_step(agent, group, &input);
    arm(agent);
}

static void on_resolved(void *ctx, const char *host, const struct glbp_addr *addrs, size_t n)
{
    struct glbp_agent *agent = ctx;
    glbp_net_resolved(agent->net, host, addrs, n);
}

/* ---- passes of the loop ---- */

static void end_if_done(struct glbp_agent *agent)
{
    if (!agent->stopping)
        return;
    for (size_t i = 0; i < agent->groups_n; i++)
        if (!glbp_group_is_done(agent->groups[i].group))
            return;
    uv_stop(&agent->loop);
}

static void on_pass(uv_prepare_t *prepare)
{
    struct glbp_agent *agent = prepare->data;
    if (agent->peers_stale || glbp_clock_mono_ms() >= agent->newcomers_until_ms) {
        agent->peers_stale = false;
        glbp_agent_learn_peers(agent);
    }
    if (agent->shown_stale) {
        agent->shown_stale = false;
        uint64_t begin_us = glbp_clock_thread_cpu_us();
        struct glbp_view view;
        glbp_agent_view(agent, &view);
        glbp_http_publish(agent->http, &view);
        account(agent, begin_us);
    } else {
        for (size_t i = 0; i < agent->groups_n; i++) {
            const struct glbp_group *group = agent->groups[i].group;
            struct glbp_group_status status;
            glbp_group_status(group, &status);
            glbp_http_confirm(agent->http, i, glbp_group_confirmed_ms(group),
                              status.state == GLBP_ACTIVE);
        }
    }
    end_if_done(agent);
}

static void on_refresh(uv_timer_t *timer)
{
    struct glbp_agent *agent = timer->data;
    glbp_agent_check_keys(agent);
    if (glbp_http_status_wanted(agent->http, glbp_clock_mono_ms()))
        agent->shown_stale = true;
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct glbp_agent *agent = signal->data;
    if (number == SIGHUP) {
        char error[512];
        if (glbp_agent_reload(agent, 0, error, sizeof(error)) != 0)
            glbp_log(3, "CONFIG", "reload refused: %s", error);
        return;
    }
    if (agent->stopping)
        return;
    agent->stopping = true;
    glbp_http_end_streams(agent->http); /* they would hold the hand-over up */
    for (size_t i = 0; i < agent->groups_n; i++) {
        struct glbp_input input = {.kind = GLBP_IN_COMMAND};
        input.as.command.command = GLBP_CMD_SHUTDOWN;
        (void)glbp_agent_step(agent, &agent->groups[i], &input);
    }
    arm(agent);
}

/* ---- start ---- */

static int make_group(struct glbp_agent *agent, size_t index)
{
    struct glbp_agent_group *group = &agent->groups[index];
    const struct glbp_group_section *section = &agent->config->groups[index];
    struct glbp_group_config core = section->core;
    glbp_agent_complete(agent->config, &core);
    struct glbp_now now = glbp_clock_now();

    struct glbp_identity identity = {.incarnation = glbp_state_incarnation(agent->state),
                                     .term = glbp_state_term(agent->state, core.id)};
    memcpy(identity.node, agent->config->node, sizeof(identity.node));
    if (getrandom(&identity.random, sizeof(identity.random), 0) != sizeof(identity.random))
        identity.random = now.wall_ms;

    struct glbp_table kept = {
        .members = calloc(core.max_members, sizeof(struct glbp_member_entry)),
        .slots = calloc(core.max_forwarders, sizeof(struct glbp_slot_entry)),
    };
    void *mem = calloc(1, glbp_group_size(core.max_members, core.max_forwarders));
    int result = GLBP_E_FULL;
    if (kept.members != NULL && kept.slots != NULL && mem != NULL) {
        if (glbp_state_table(agent->state, core.id, now.mono_ms, core.max_members,
                             core.max_forwarders, &kept))
            identity.table = &kept;
        result = glbp_group_init(mem, &core, &identity, now, &group->group);
    }
    free(kept.members);
    free(kept.slots);
    if (result != 0) {
        free(mem);
        glbp_log(3, "CONFIG", "group %s cannot be made: %s", core.name, glbp_strerror(result));
        return -1;
    }
    group->section = section;
    return 0;
}

static int make_groups(struct glbp_agent *agent)
{
    size_t n = agent->config->groups_n;
    agent->groups = calloc(n, sizeof(*agent->groups));
    agent->group_views = calloc(n, sizeof(*agent->group_views));
    for (size_t i = 0; agent->groups != NULL && agent->group_views != NULL && i < n; i++) {
        if (make_group(agent, i) != 0)
            return -1;
        agent->groups_n++;
    }
    if (agent->groups_n == n && glbp_agent_tracks_renew(agent))
        return 0;
    glbp_log(3, "CONFIG", "no memory to start");
    return -1;
}

static int start_net(struct glbp_agent *agent)
{
    struct glbp_net_callbacks callbacks = {agent, on_datagram, on_link};
    int result = glbp_net_new(&agent->loop, agent->config, &callbacks, &agent->net);
    if (result != 0)
        glbp_log(3, "NOSOCKET",
                 "transport.listen: UDP port %u cannot be bound: %s; is another agent running on "
                 "this host?",
                 agent->config->transport.listen.port, uv_strerror(result));
    return result;
}

static int start_checks(struct glbp_agent *agent)
{
    struct glbp_checks_callbacks callbacks = {agent, on_health, on_check, on_probe, on_resolved};
    int result = glbp_checks_start(&agent->loop, agent->config, &callbacks, &agent->checks);
    if (result != 0)
        glbp_log(3, "TRACK", "the checks thread cannot start: %s", uv_strerror(result));
    return result;
}

static int start_faces(struct glbp_agent *agent)
{
    char error[512];
    if (glbp_http_start(agent->config, agent->started_ms, error, sizeof(error), &agent->http) !=
        0) {
        glbp_log(3, "HTTP", "%s", error);
        return -1;
    }
    if (agent->config->control == NULL)
        return 0; /* "" in the file: no control socket */
    struct glbp_control_options options = {
        .path = agent->config->control, .command = glbp_agent_command, .ctx = agent};
    if (glbp_control_new(&agent->loop, &options, error, sizeof(error), &agent->control) != 0) {
        glbp_log(3, "CONFIG", "control: %s", error);
        return -1;
    }
    return 0;
}

static void start_loop(struct glbp_agent *agent)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    agent->deadline_ms = glbp_clock_mono_ms();
    (void)uv_timer_start(&agent->deadline, on_deadline, 0, 0);
    (void)uv_timer_init(&agent->loop, &agent->refresh);
    agent->refresh.data = agent;
    (void)uv_timer_start(&agent->refresh, on_refresh, REFRESH_MS, REFRESH_MS);
    (void)uv_prepare_init(&agent->loop, &agent->pass);
    agent->pass.data = agent;
    (void)uv_prepare_start(&agent->pass, on_pass);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        (void)uv_signal_init(&agent->loop, &agent->signals[i]);
        agent->signals[i].data = agent;
        (void)uv_signal_start(&agent->signals[i], on_signal, numbers[i]);
    }
}

/* A group without checks is fit from its first hello on: a fast restart moves no slot. */
static void tell_unchecked(struct glbp_agent *agent)
{
    static const struct glbp_health fit = {.decrement = 0};
    for (size_t i = 0; i < agent->groups_n; i++)
        if (agent->groups[i].section->checks_n == 0)
            on_health(agent, agent->groups[i].section->core.id, &fit);
}

static int start(struct glbp_agent *agent)
{
    agent->state =
        glbp_state_open(agent->config->state_dir, agent->config->node, glbp_clock_now().wall_ms);
    if (agent->state == NULL) {
        glbp_log(3, "CONFIG", "no memory to start");
        return -1;
    }
    int result = glbp_agent_keychain(agent->config->cluster, agent->config, &agent->keychain);
    if (result != 0) {
        glbp_log(3, "CONFIG", "auth.keys: %s", glbp_strerror(result));
        return result;
    }
    glbp_agent_check_keys(agent);
    if (make_groups(agent) != 0 || start_faces(agent) != 0)
        return -1;
    if (glbp_agent_reload_init(agent) != 0) {
        glbp_log(3, "CONFIG", "no memory to start");
        return -1;
    }
    tell_unchecked(agent);
    if (start_net(agent) != 0 || start_checks(agent) != 0)
        return -1;
    start_loop(agent);
    agent->shown_stale = true;
    return 0;
}

/* ---- end ---- */

/* The faces first, so that the last requests still see the last pool; then what feeds the groups.
 */
static void stop(struct glbp_agent *agent)
{
    glbp_http_stop(agent->http);
    if (agent->control != NULL)
        glbp_control_close(agent->control, NULL, NULL);
    glbp_checks_stop(agent->checks);
    glbp_net_free(agent->net);
    glbp_agent_reload_fini(agent);
    if (agent->pass.data != NULL)
        uv_prepare_stop(&agent->pass);
    for (size_t i = 0; i < sizeof(agent->signals) / sizeof(agent->signals[0]); i++)
        if (agent->signals[i].data != NULL)
            uv_close((uv_handle_t *)&agent->signals[i], NULL);
    uv_close((uv_handle_t *)&agent->deadline, NULL);
    if (agent->pass.data != NULL) {
        uv_close((uv_handle_t *)&agent->pass, NULL);
        uv_close((uv_handle_t *)&agent->refresh, NULL);
    }
    (void)uv_run(&agent->loop, UV_RUN_DEFAULT); /* the close call-backs */
    (void)uv_loop_close(&agent->loop);

    glbp_state_stop(agent->state);
    glbp_agent_keychain_free(agent->keychain);
    glbp_agent_tracks_free(agent);
    for (size_t i = 0; i < agent->groups_n; i++)
        free(agent->groups[i].group);
    free(agent->groups);
    free(agent->group_views);
    glbp_config_free(agent->config);
}

int glbp_agent_run(struct glbp_config *config)
{
    struct glbp_agent *agent = calloc(1, sizeof(*agent));
    if (agent == NULL || uv_loop_init(&agent->loop) != 0) {
        glbp_log(3, "CONFIG", "no memory to start");
        glbp_config_free(config);
        free(agent);
        return 1;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    agent->config = config;
    agent->started_ms = glbp_clock_mono_ms();
    agent->deadline_ms = GLBP_NEVER_MS;
    agent->newcomers_until_ms = GLBP_NEVER_MS;
    (void)uv_timer_init(&agent->loop, &agent->deadline);
    agent->deadline.data = agent;
    int result = start(agent);
    if (result == 0)
        (void)uv_run(&agent->loop, UV_RUN_DEFAULT);
    stop(agent);
    free(agent);
    return result == 0 ? 0 : 1;
}
