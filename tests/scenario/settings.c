/* key=value of `node`, `defaults` and `config`: named as in gateway.json where it is said there. */
#include <stdio.h>
#include <string.h>

#include "tests/scenario/scenario.h"

static const struct setting {
    const char *key;
    size_t offset; /* of a uint32_t in the group's config */
} settings[] = {
#define SETTING(key)                                                                               \
    {                                                                                              \
#key, offsetof(struct glbp_group_config, key)                                              \
    }
    SETTING(id),           SETTING(priority),       SETTING(preempt_delay_ms),
    SETTING(hello_ms),     SETTING(hold_ms),        SETTING(redirect_ms),
    SETTING(timeout_ms),   SETTING(weight_max),     SETTING(weight_lower),
    SETTING(weight_upper), SETTING(max_forwarders), SETTING(max_members),
    SETTING(refresh_ms),   SETTING(load_balancing), SETTING(forwarder_preempt_delay_ms),
#undef SETTING
};

static bool set_number(struct scenario *scenario, struct glbp_group_config *config, const char *key,
                       const char *value)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (strcmp(settings[i].key, key) == 0) {
            uint32_t number = (uint32_t)scenario_number(scenario, value);

            memcpy((char *)config + settings[i].offset, &number, sizeof number);
            return true;
        }
    }
    return false;
}

static void set_text(struct scenario *scenario, char *to, size_t cap, const char *value)
{
    if ((size_t)snprintf(to, cap, "%s", value) >= cap)
        scenario_wrong(scenario, "\"%s\" is too long", value);
}

/* What only a host has. Returns false if the key is none of these. */
static bool set_host(struct scenario *scenario, struct sim_host *host, const char *key,
                     const char *value)
{
    if (strcmp(key, "name") == 0)
        set_text(scenario, host->node, sizeof host->node, value);
    else if (strcmp(key, "wall_ms") == 0)
        host->wall_offset_ms = scenario_number(scenario, value);
    else if (strcmp(key, "checks") == 0)
        host->has_checks = strcmp(value, "off") != 0;
    else
        return false;
    return true;
}

static bool set_group(struct scenario *scenario, struct glbp_group_config *config, const char *key,
                      const char *value)
{
    if (strcmp(key, "url") == 0)
        set_text(scenario, config->url, sizeof config->url, value);
    else if (strcmp(key, "preempt") == 0)
        config->preempt = strcmp(value, "off") != 0;
    else
        return set_number(scenario, config, key, value);
    return true;
}

/* A word without a value is one that is on. */
void scenario_set(struct scenario *scenario, struct sim_host *host,
                  struct glbp_group_config *config, const char *word)
{
    const char *equals = strchr(word, '='), *value = equals ? equals + 1 : "on";
    char key[64];

    snprintf(key, sizeof key, "%.*s", equals ? (int)(equals - word) : 63, word);
    if (host && set_host(scenario, host, key, value))
        return;
    if (!set_group(scenario, config, key, value))
        scenario_wrong(scenario, "what is \"%s\"?", word);
}
