/* Commands about the network. Sides of a cut: `a>b` one way, `a|b` both, lists by commas. */
#include <stdio.h>
#include <string.h>

#include "tests/scenario/scenario.h"

static void flag_hosts(struct scenario *scenario, char *list, bool *ret_flags)
{
    char *state = NULL;

    memset(ret_flags, 0, GLBP_MEMBERS_MAX * sizeof ret_flags[0]);
    for (char *label = strtok_r(list, ",", &state); label; label = strtok_r(NULL, ",", &state)) {
        if (strcmp(label, "*") != 0) {
            ret_flags[scenario_host(scenario, label)->index] = true;
            continue;
        }
        for (size_t i = 0; i < scenario->world->hosts_n; i++)
            ret_flags[i] = true;
    }
}

/* Cuts or lifts what the word says. */
static void change(struct scenario *scenario, const char *word, bool http, bool cut)
{
    static bool left[GLBP_MEMBERS_MAX], right[GLBP_MEMBERS_MAX];
    struct sim_world *world = scenario->world;
    char sides[256];
    char *middle;
    bool both;

    snprintf(sides, sizeof sides, "%s", word);
    middle = strpbrk(sides, "|>");
    if (!middle)
        scenario_wrong(scenario, "a cut is a>b or a|b, not \"%s\"", word);
    both = *middle == '|';
    *middle = '\0';
    flag_hosts(scenario, sides, left);
    flag_hosts(scenario, middle + 1, right);
    for (size_t i = 0; i < world->hosts_n; i++) {
        for (size_t k = 0; k < world->hosts_n; k++) {
            if (i != k && left[i] && right[k]) {
                sim_net_cut(world, i, k, http, cut);
                if (both)
                    sim_net_cut(world, k, i, http, cut);
            }
        }
    }
}

static void cut_or_heal(struct scenario *scenario, char **words, size_t n, bool cut)
{
    bool http = n > 1 && strcmp(words[n - 1], "http") == 0;

    if (n == 1 && !cut)
        sim_net_heal(scenario->world);
    for (size_t i = 1; i < n - (http ? 1 : 0); i++)
        change(scenario, words[i], http, cut);
}

static uint16_t permille(struct scenario *scenario, const char *word)
{
    char number[16];
    size_t len = strlen(word);
    bool percent = len > 1 && word[len - 1] == '%';

    snprintf(number, sizeof number, "%.*s", (int)(percent ? len - 1 : len), word);
    return (uint16_t)(scenario_number(scenario, number) * (percent ? 10 : 1));
}

/* Those that a sent and that were recorded arrive again, at b. */
static void replay(struct scenario *scenario, const char *from, const char *to)
{
    struct sim_net *net = &scenario->world->net;
    uint32_t sender = scenario_host(scenario, from)->index;
    uint32_t receiver = scenario_host(scenario, to)->index;

    for (size_t i = 0; i < net->recorded_n; i++) {
        if (net->recorded[i]->from == sender)
            sim_net_replay(scenario->world, net->recorded[i], receiver);
    }
}

bool scenario_network(struct scenario *scenario, char **words, size_t n)
{
    struct sim_net *net = &scenario->world->net;
    const char *value = n > 1 ? words[1] : "";

    if (strcmp(words[0], "cut") == 0)
        cut_or_heal(scenario, words, n, true);
    else if (strcmp(words[0], "heal") == 0)
        cut_or_heal(scenario, words, n, false);
    else if (strcmp(words[0], "loss") == 0)
        net->loss_permille = permille(scenario, value);
    else if (strcmp(words[0], "dup") == 0)
        net->dup_permille = permille(scenario, value);
    else if (strcmp(words[0], "delay") == 0)
        net->delay_ms = (uint32_t)scenario_number(scenario, value);
    else if (strcmp(words[0], "jitter") == 0)
        net->jitter_ms = (uint32_t)scenario_number(scenario, value);
    else if (strcmp(words[0], "record") == 0)
        net->record_max = strcmp(value, "off") == 0 ? 0 : 100000;
    else if (strcmp(words[0], "replay") == 0 && n == 3)
        replay(scenario, words[1], words[2]);
    else
        return false;
    return true;
}
