/* The commands of a script, but for those about the network (links.c) and expect (expect.c). */
#include <stdlib.h>
#include <string.h>

#include "tests/scenario/scenario.h"

struct sim_host *scenario_host(struct scenario *scenario, const char *label)
{
    for (size_t i = 0; i < scenario->hosts_named; i++) {
        if (strcmp(scenario->world->hosts[i].label, label) == 0)
            return &scenario->world->hosts[i];
    }
    scenario_wrong(scenario, "no node \"%s\"", label);
}

int64_t scenario_number(struct scenario *scenario, const char *text)
{
    char *end;
    long long low = strtoll(text, &end, 10), high = low;

    if (end != text && strncmp(end, "..", 2) == 0)
        high = strtoll(end + 2, &end, 10);
    if (end == text || *end || high < low)
        scenario_wrong(scenario, "\"%s\" is no number", text);
    return high == low
               ? low
               : low + (int64_t)sim_rng_below(&scenario->world->rng, (uint64_t)(high - low) + 1);
}

/* ---- setting the scene ---- */

static void do_node(struct scenario *scenario, char **words, size_t n)
{
    struct sim_host *host = &scenario->world->hosts[scenario->hosts_named];

    if (strlen(words[1]) > GLBP_NODE_MAX)
        scenario_wrong(scenario, "\"%s\" is too long", words[1]);
    memset(host->label, 0, sizeof host->label);
    memcpy(host->label, words[1], strlen(words[1]));
    memcpy(host->node, host->label, sizeof host->node);
    sim_host_defaults(host); /* for the urls */
    memcpy(scenario->defaults.url, host->config.url, sizeof host->config.url);
    memcpy(scenario->defaults.agent_url, host->config.agent_url, sizeof host->config.agent_url);
    host->config = scenario->defaults;
    scenario->hosts_named++;
    for (size_t i = 2; i < n; i++)
        scenario_set(scenario, host, &host->config, words[i]);
}

static void do_defaults(struct scenario *scenario, char **words, size_t n)
{
    for (size_t i = 1; i < n; i++)
        scenario_set(scenario, NULL, &scenario->defaults, words[i]);
}

static void do_seed(struct scenario *scenario, char **words, size_t n)
{
    (void)n;
    scenario->world->rng.state = (uint64_t)scenario_number(scenario, words[1]);
}

static void do_keys(struct scenario *scenario, char **words, size_t n)
{
    (void)n;
    if (strcmp(words[1], "off") == 0)
        scenario->world->is_signed = false;
    else if (strcmp(words[1], "on") == 0)
        sim_world_sign(scenario->world);
    else
        scenario_wrong(scenario, "keys on or off, not \"%s\"", words[1]);
}

static void do_witness(struct scenario *scenario, char **words, size_t n)
{
    (void)n;
    scenario->world->witness_shut = strcmp(words[1], "shut") == 0;
}

static void do_checks(struct scenario *scenario, char **words, size_t n)
{
    (void)n;
    scenario->world->check_ms = (uint32_t)scenario_number(scenario, words[1]);
}

static void do_show(struct scenario *scenario, char **words, size_t n)
{
    scenario->show = 0;
    for (size_t i = 1; i < n; i++)
        scenario->show |= scenario_show_named(scenario, words[i]);
}

/* ---- processes ---- */

static struct sim_host *running(struct scenario *scenario, const char *label)
{
    struct sim_host *host = scenario_host(scenario, label);

    if (!host->group)
        scenario_wrong(scenario, "%s does not run", label);
    return host;
}

static void do_start(struct scenario *scenario, char **words, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct sim_host *host = scenario_host(scenario, words[i]);

        if (host->group)
            scenario_wrong(scenario, "%s runs already", words[i]);
        sim_host_start(host);
    }
}

static void do_crash(struct scenario *scenario, char **words, size_t n)
{
    for (size_t i = 1; i < n; i++)
        sim_host_crash(running(scenario, words[i]));
}

static void do_sigterm(struct scenario *scenario, char **words, size_t n)
{
    (void)n;
    sim_host_shutdown(running(scenario, words[1]));
}

/* restart a [wiped] [torn] [wall_ms=…]: kill -9, and started again in the same millisecond. */
static void do_restart(struct scenario *scenario, char **words, size_t n)
{
    struct sim_host *host = scenario_host(scenario, words[1]);

    sim_host_crash(host);
    for (size_t i = 2; i < n; i++) {
        if (strcmp(words[i], "wiped") == 0)
            sim_disk_wipe(host);
        else if (strcmp(words[i], "torn") == 0)
            host->disk.table_len /= 2;
        else
            scenario_set(scenario, host, &host->config, words[i]);
    }
    sim_host_start(host);
}

static void do_stall(struct scenario *scenario, char **words, size_t n)
{
    if (n != 3)
        scenario_wrong(scenario, "stall NODE MS");
    sim_host_stall(running(scenario, words[1]), (uint64_t)scenario_number(scenario, words[2]));
}

/* ---- orders to a process ---- */

static void order(struct scenario *scenario, const char *label, enum glbp_command command,
                  uint32_t value)
{
    struct sim_host *host = running(scenario, label);
    int result = sim_host_command(host, command, value);

    if (result == GLBP_E_REFUSED)
        scenario_tell(scenario, host, "refuses the command");
    else if (result != 0)
        scenario_wrong(scenario, "%s: %s", label, glbp_strerror(result));
}

static void do_resign(struct scenario *scenario, char **words, size_t n)
{
    (void)n;
    order(scenario, words[1], GLBP_CMD_RESIGN, 0);
}

static void do_drain(struct scenario *scenario, char **words, size_t n)
{
    (void)n;
    order(scenario, words[1], GLBP_CMD_DRAIN, 0);
}

static void do_undrain(struct scenario *scenario, char **words, size_t n)
{
    (void)n;
    order(scenario, words[1], GLBP_CMD_UNDRAIN, 0);
}

static void do_weight(struct scenario *scenario, char **words, size_t n)
{
    if (n != 3)
        scenario_wrong(scenario, "weight NODE N|auto");
    if (strcmp(words[2], "auto") == 0)
        order(scenario, words[1], GLBP_CMD_WEIGHT_AUTO, 0);
    else
        order(scenario, words[1], GLBP_CMD_WEIGHT, (uint32_t)scenario_number(scenario, words[2]));
}

static void do_config(struct scenario *scenario, char **words, size_t n)
{
    struct sim_host *host = running(scenario, words[1]);
    struct glbp_group_config config = host->config;
    int result;

    for (size_t i = 2; i < n; i++)
        scenario_set(scenario, NULL, &config, words[i]);
    result = sim_host_configure(host, &config);
    if (result != 0)
        scenario_wrong(scenario, "%s: %s", words[1], glbp_strerror(result));
}

/* ---- hosts ---- */

static void do_bff(struct scenario *scenario, char **words, size_t n)
{
    static const char *const states[] = {"up", "down", "hung"};
    struct sim_host *host = scenario_host(scenario, words[1]);

    for (int i = 0; i < 3 && n == 3; i++) {
        if (strcmp(words[2], states[i]) == 0) {
            host->bff = (enum sim_bff)i;
            if (host->group)
                sim_host_check(host);
            return;
        }
    }
    scenario_wrong(scenario, "bff NODE up|down|hung");
}

/* No probe reaches it: switched off, or behind a firewall. */
static void do_http(struct scenario *scenario, char **words, size_t n)
{
    if (n != 3)
        scenario_wrong(scenario, "http NODE open|closed");
    scenario_host(scenario, words[1])->http_closed = strcmp(words[2], "closed") == 0;
}

static void do_link(struct scenario *scenario, char **words, size_t n)
{
    static const char *const states[] = {"down", "up", "cut_off"};

    for (int i = 0; i < 3 && n == 3; i++) {
        if (strcmp(words[2], states[i]) == 0) {
            sim_host_link(scenario_host(scenario, words[1]), (enum glbp_link)i);
            return;
        }
    }
    scenario_wrong(scenario, "link NODE up|down|cut_off");
}

static void do_address(struct scenario *scenario, char **words, size_t n)
{
    struct sim_host *host = scenario_host(scenario, words[1]);
    struct glbp_addr addr;

    if (n != 3 || !glbp_addr_parse(words[2], strlen(words[2]), &addr))
        scenario_wrong(scenario, "address NODE ADDRESS");
    addr.port = host->addr.port;
    host->addr = addr;
    sim_host_link(host, host->link);
}

static void do_clock(struct scenario *scenario, char **words, size_t n)
{
    if (n != 3)
        scenario_wrong(scenario, "clock NODE MS");
    scenario_host(scenario, words[1])->wall_offset_ms += scenario_number(scenario, words[2]);
}

/* ---- time ---- */

static void do_advance(struct scenario *scenario, char **words, size_t n)
{
    (void)n;
    sim_world_run(scenario->world,
                  scenario->world->now_ms + (uint64_t)scenario_number(scenario, words[1]));
}

/* As if the hosts had been up for so long: their clocks that never go back begin there. */
static void do_uptime(struct scenario *scenario, char **words, size_t n)
{
    (void)n;
    if (scenario->hosts_named > 0)
        scenario_wrong(scenario, "uptime comes before the nodes");
    scenario->world->now_ms = (uint64_t)scenario_number(scenario, words[1]);
}

static void do_mark(struct scenario *scenario, char **words, size_t n)
{
    (void)words;
    (void)n;
    memset(scenario->tallies, 0, scenario->world->hosts_n * sizeof scenario->tallies[0]);
}

static const struct {
    const char *name;
    size_t words; /* at least, the name included */
    void (*run)(struct scenario *scenario, char **words, size_t n);
} commands[] = {
    {"node", 2, do_node},       {"defaults", 2, do_defaults}, {"seed", 2, do_seed},
    {"keys", 2, do_keys},       {"witness", 2, do_witness},   {"checks_ms", 2, do_checks},
    {"show", 1, do_show},       {"start", 2, do_start},       {"crash", 2, do_crash},
    {"sigterm", 2, do_sigterm}, {"restart", 2, do_restart},   {"stall", 2, do_stall},
    {"resign", 2, do_resign},   {"drain", 2, do_drain},       {"undrain", 2, do_undrain},
    {"weight", 2, do_weight},   {"config", 3, do_config},     {"bff", 2, do_bff},
    {"http", 2, do_http},       {"link", 2, do_link},         {"address", 2, do_address},
    {"clock", 2, do_clock},     {"advance", 2, do_advance},   {"mark", 1, do_mark},
    {"uptime", 2, do_uptime},
};

void scenario_command(struct scenario *scenario, char **words, size_t n)
{
    if (strcmp(words[0], "expect") == 0) {
        scenario_expect(scenario, words + 1, n - 1);
        return;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, words[0]) == 0 && n >= commands[i].words) {
            commands[i].run(scenario, words, n);
            return;
        }
    }
    if (!scenario_network(scenario, words, n))
        scenario_wrong(scenario, "unknown command, or too short: %s", words[0]);
}
