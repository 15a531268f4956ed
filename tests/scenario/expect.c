/* expect [within MS | for MS] SUBJECT … OPERATOR VALUE
 *
 * What must be true whatever the timeline says, so that --rewrite blesses no nonsense. `within`
 * lets time go by until it is true; `for` lets it go by and demands it all the time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/group/pool.h"
#include "tests/scenario/scenario.h"

#define ANSWER_SIZE 128
#define STEP_MS     5

struct question {
    struct scenario *scenario;
    char **words;
    size_t n;                  /* words before the operator, `at NODE` not counted */
    const struct sim_host *at; /* NULL: all that run must agree */
    char answer[ANSWER_SIZE];
};

/* What one subject says of one host; ret: ANSWER_SIZE. */
typedef void ask(struct question *question, const struct sim_host *host, char *ret);

static const char *or_none(const char *text)
{
    return text[0] ? text : "none";
}

static const char *yes_no(bool yes)
{
    return yes ? "yes" : "no";
}

static void ask_status(struct question *question, const struct sim_host *host, char *ret)
{
    const char *what = question->words[0];
    struct glbp_group_status status;

    sim_host_status(host, &status);
    if (strcmp(what, "avg") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", or_none(status.avg));
    else if (strcmp(what, "standby") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", or_none(status.standby));
    else if (strcmp(what, "state") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", glbp_state_name(status.state));
    else if (strcmp(what, "term") == 0)
        snprintf(ret, ANSWER_SIZE, "%" PRIu64, status.term);
    else if (strcmp(what, "minority") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", yes_no(status.minority));
    else if (strcmp(what, "duplicate") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", yes_no(status.duplicate));
    else if (strcmp(what, "eligible") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", yes_no(status.eligible));
    else if (strcmp(what, "weight") == 0)
        snprintf(ret, ANSWER_SIZE, "%u", status.weight);
    else
        snprintf(ret, ANSWER_SIZE, "%" PRIu64, status.incarnation);
}

static void ask_head(struct question *question, const struct sim_host *host, char *ret)
{
    const struct glbp_table *table = glbp_group_table(host->group);
    const char *what = question->words[0];

    if (strcmp(what, "majority") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", yes_no(table->head.flags & GLBP_HEAD_MAJORITY));
    else if (strcmp(what, "degraded") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", yes_no(table->head.flags & GLBP_HEAD_DEGRADED));
    else if (strcmp(what, "lone") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", yes_no(table->head.flags & GLBP_HEAD_LONE));
    else if (strcmp(what, "members") == 0)
        snprintf(ret, ANSWER_SIZE, "%zu", table->members_n);
    else
        snprintf(ret, ANSWER_SIZE, "%zu", table->slots_n);
}

static void ask_member(struct question *question, const struct sim_host *host, char *ret)
{
    static const char *const states[] = {"lost", "resigned", "live"};
    const struct glbp_member_entry *entry =
        glbp_table_member(glbp_group_table(host->group), question->words[1]);

    snprintf(ret, ANSWER_SIZE, "%s", entry ? states[entry->state] : "none");
}

/* slot N owner|forwarder|state|weight|alive|url|remaining_s, as /pool shows it */
static void ask_slot(struct question *question, const struct sim_host *host, char *ret)
{
    const struct glbp_table *table = glbp_group_table(host->group);
    uint32_t number = (uint32_t)scenario_number(question->scenario, question->words[1]);
    const char *what = question->n > 2 ? question->words[2] : "";
    struct glbp_pool_entry entry;
    size_t i = 0;

    while (i < table->slots_n && table->slots[i].slot != number)
        i++;
    if (i == table->slots_n) {
        snprintf(ret, ANSWER_SIZE, "none");
        return;
    }
    glbp_pool_entry(table, i, &entry);
    if (strcmp(what, "owner") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", entry.owner);
    else if (strcmp(what, "forwarder") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", or_none(entry.id));
    else if (strcmp(what, "state") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", glbp_slot_state_name(entry.state));
    else if (strcmp(what, "weight") == 0)
        snprintf(ret, ANSWER_SIZE, "%u", entry.weight);
    else if (strcmp(what, "alive") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", yes_no(entry.alive));
    else if (strcmp(what, "url") == 0)
        snprintf(ret, ANSWER_SIZE, "%s", entry.url);
    else
        scenario_wrong(question->scenario, "slot N what? \"%s\"", what);
}

static void ask_rejected(struct question *question, const struct sim_host *host, char *ret)
{
    for (int reason = 1; reason < GLBP_REJECT_COUNT_; reason++) {
        if (strcmp(glbp_reject_name((enum glbp_reject)reason), question->words[1]) == 0) {
            snprintf(ret, ANSWER_SIZE, "%" PRIu64,
                     glbp_group_rejected(host->group, (enum glbp_reject)reason));
            return;
        }
    }
    scenario_wrong(question->scenario, "no reason \"%s\"", question->words[1]);
}

/* The table as all of /pool is made from it. */
static void ask_pools(struct question *question, const struct sim_host *host, char *ret)
{
    const struct glbp_table *table = glbp_group_table(host->group);
    uint64_t hash = sim_hash_of(table->stamp.term, &table->stamp.version, sizeof(uint64_t));

    (void)question;
    if (table->stamp.term == 0) {
        snprintf(ret, ANSWER_SIZE, "none");
        return;
    }
    hash = sim_hash_of(hash, &table->head.flags, sizeof table->head.flags);
    for (size_t i = 0; i < table->slots_n; i++) {
        struct glbp_pool_entry entry;
        uint64_t numbers[4];

        glbp_pool_entry(table, i, &entry);
        numbers[0] = entry.slot;
        numbers[1] = ((uint64_t)entry.weight << 32) | entry.latency_ms;
        numbers[2] = ((uint64_t)entry.alive << 8) | entry.state;
        numbers[3] = table->members_n;
        hash = sim_hash_of(hash, numbers, sizeof numbers);
        hash = sim_hash_of(hash, entry.id, strlen(entry.id) + 1);
        hash = sim_hash_of(hash, entry.url, strlen(entry.url) + 1);
    }
    snprintf(ret, ANSWER_SIZE, "%" PRIx64, hash);
}

/* ---- sums over the world, since `mark` ---- */

static uint64_t sum_of(const struct question *question, const char *what)
{
    const struct scenario *scenario = question->scenario;
    uint64_t sum = 0;

    for (size_t i = 0; i < scenario->world->hosts_n; i++) {
        const struct tally *tally = &scenario->tallies[i];

        if (question->at && question->at->index != i)
            continue;
        if (strcmp(what, "actives") == 0)
            sum += scenario->states[i] == GLBP_ACTIVE;
        else
            sum += strcmp(what, "changes") == 0  ? tally->changes
                   : strcmp(what, "claims") == 0 ? tally->claims
                   : strcmp(what, "tables") == 0 ? tally->tables
                                                 : tally->sent;
    }
    return sum;
}

static const struct {
    const char *name;
    size_t words;
    ask *ask; /* NULL: a sum */
} subjects[] = {
    {"avg", 1, ask_status},      {"standby", 1, ask_status},    {"state", 1, ask_status},
    {"term", 1, ask_status},     {"minority", 1, ask_status},   {"duplicate", 1, ask_status},
    {"eligible", 1, ask_status}, {"weight", 1, ask_status},     {"incarnation", 1, ask_status},
    {"majority", 1, ask_head},   {"degraded", 1, ask_head},     {"lone", 1, ask_head},
    {"members", 1, ask_head},    {"slots", 1, ask_head},        {"member", 2, ask_member},
    {"slot", 3, ask_slot},       {"rejected", 2, ask_rejected}, {"pools", 1, ask_pools},
    {"actives", 1, NULL},        {"changes", 1, NULL},          {"tables", 1, NULL},
    {"sent", 1, NULL},           {"claims", 1, NULL},
};

/* Fills question->answer: what all say that are asked, or "differs". */
static void ask_all(struct question *question, ask *about)
{
    struct sim_world *world = question->scenario->world;
    bool pools = about == ask_pools;
    char said[ANSWER_SIZE];
    size_t asked = 0;

    for (size_t i = 0; i < world->hosts_n; i++) {
        const struct sim_host *host = &world->hosts[i];

        if (!host->group || (question->at ? question->at != host : host->stalled))
            continue;
        about(question, host, said);
        if (asked++ == 0)
            memcpy(question->answer, said, sizeof said);
        else if (strcmp(said, question->answer) != 0)
            snprintf(question->answer, sizeof question->answer, "%s", "differs");
    }
    if (asked == 0)
        snprintf(question->answer, sizeof question->answer, "%s", "nobody");
    else if (pools && strcmp(question->answer, "differs") != 0 &&
             strcmp(question->answer, "none") != 0)
        snprintf(question->answer, sizeof question->answer, "%s", "equal");
}

static void answer(struct question *question)
{
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        if (strcmp(subjects[i].name, question->words[0]) != 0)
            continue;
        if (question->n != subjects[i].words)
            scenario_wrong(question->scenario, "\"%s\" wants %zu words", subjects[i].name,
                           subjects[i].words);
        if (subjects[i].ask)
            ask_all(question, subjects[i].ask);
        else
            snprintf(question->answer, sizeof question->answer, "%" PRIu64,
                     sum_of(question, subjects[i].name));
        return;
    }
    scenario_wrong(question->scenario, "expect what? \"%s\"", question->words[0]);
}

static bool holds(struct question *question, const char *operator, const char * value)
{
    char *end, *other_end;
    long long left, right;
    int order;

    answer(question);
    left = strtoll(question->answer, &end, 10);
    right = strtoll(value, &other_end, 10);
    if (*end || *other_end || end == question->answer || other_end == value)
        order = strcmp(question->answer, value);
    else
        order = (left > right) - (left < right);
    if (strcmp(operator, "==") == 0)
        return order == 0;
    if (strcmp(operator, "!=") == 0)
        return order != 0;
    if (strcmp(operator, "<=") == 0)
        return order <= 0;
    if (strcmp(operator, ">=") == 0)
        return order >= 0;
    scenario_wrong(question->scenario, "== != <= or >=, not \"%s\"", operator);
}

static void complain(struct scenario *scenario, const struct question *question, char **words,
                     size_t n)
{
    printf("%s:%u: at %" PRIu64 " ms: expect", scenario->script.path, scenario->line,
           scenario->world->now_ms);
    for (size_t i = 0; i < n; i++)
        printf(" %s", words[i]);
    printf(": it is %s\n", question->answer);
    scenario->failures++;
}

void scenario_expect(struct scenario *scenario, char **words, size_t n)
{
    struct question question = {.scenario = scenario};
    bool within = n > 2 && strcmp(words[0], "within") == 0;
    bool lasting = n > 2 && strcmp(words[0], "for") == 0;
    size_t first = within || lasting ? 2 : 0;
    uint64_t until_ms = scenario->world->now_ms;

    if (n < first + 3)
        scenario_wrong(scenario, "expect [within MS|for MS] SUBJECT OPERATOR VALUE");
    if (first)
        until_ms += (uint64_t)scenario_number(scenario, words[1]);
    question.words = words + first;
    question.n = n - first - 2;
    if (question.n > 2 && strcmp(question.words[question.n - 2], "at") == 0) {
        question.at = scenario_host(scenario, question.words[question.n - 1]);
        question.n -= 2;
    }
    for (;;) {
        bool true_now = holds(&question, words[n - 2], words[n - 1]);
        bool over = scenario->world->now_ms >= until_ms;

        if (!true_now && (lasting || over)) {
            complain(scenario, &question, words, n);
            return;
        }
        if (over || (true_now && !lasting))
            return;
        sim_world_run(scenario->world, scenario->world->now_ms + STEP_MS);
    }
}
