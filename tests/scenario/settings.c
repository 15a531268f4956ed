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

void scenario_set(struct scenario *scenario, struct sim_host *host,
                  struct glbp_group_config *config, const char *word)
{
    const char *equals = strchr(word, '=');
    char key[64];

    snprintf(key, sizeof key, "%.*s", equals ? (int)(equals - word) : 63, word);
    if (!equals && strcmp(key, "preempt") == 0)
        config->preempt = true;
    else if (!equals && strcmp(key, "checks") == 0 && host)
        host->has_checks = true;
    else if (!equals)
        scenario_wrong(scenario, "what is \"%s\"?", word);
    else if (strcmp(key, "name") == 0 && host)
        set_text(scenario, host->node, sizeof host->node, equals + 1);
    else if (strcmp(key, "url") == 0)
        set_text(scenario, config->url, sizeof config->url, equals + 1);
    else if (strcmp(key, "wall_ms") == 0 && host)
        host->wall_offset_ms = scenario_number(scenario, equals + 1);
    else if (strcmp(key, "preempt") == 0)
        config->preempt = strcmp(equals + 1, "off") != 0;
    else if (!set_number(scenario, config, key, equals + 1))
        scenario_wrong(scenario, "what is \"%s\"?", word);
}
