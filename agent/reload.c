/* SIGHUP and `glbpctl reload` (http.md section 3): the file is read off the loop; one with a
 * mistake changes nothing; what changed is applied without losing table, role or results of checks;
 * what needs a restart is named. */
#include <stdlib.h>
#include <string.h>

#include "agent/inside.h"

struct glbp_reload {
    uv_work_t work;
    struct glbp_agent *agent;
    char *path;
    char *text; /* what there is to say: mistakes, or what needs a restart */
    size_t text_len;
    int mistakes;
    struct glbp_config *config;
    size_t tokens_n;
    uint64_t tokens[GLBP_RELOAD_WAITERS];
    bool again; /* asked for once more after the file may have been read … */
    size_t next_tokens_n;
    uint64_t next_tokens[GLBP_RELOAD_WAITERS]; /* … by these */
};

/* ---- keys ---- */

int glbp_agent_keychain(const char *cluster, const struct glbp_config *config,
                        struct glbp_keychain **ret)
{
    void *mem = calloc(1, glbp_keychain_size());
    if (mem == NULL)
        return GLBP_E_FULL;
    int result = glbp_keychain_init(mem, cluster, config->auth.mode, config->auth.keys,
                                    config->auth.keys_n, ret);
    if (result != 0)
        free(mem);
    return result;
}

void glbp_agent_keychain_free(struct glbp_keychain *keychain)
{
    glbp_keychain_fini(keychain);
    free(keychain);
}

void glbp_agent_complete(const struct glbp_config *config, struct glbp_group_config *core)
{
    bool keyed = config->auth.keys_n > 0;
    core->prefer_signed = keyed && config->auth.mode != GLBP_AUTH_ENFORCE;
    core->signs = keyed && config->auth.mode != GLBP_AUTH_RECEIVE_ONLY;
}

/* ---- off the loop ---- */

static void read_file(uv_work_t *work)
{
    struct glbp_reload *reload = work->data;
    FILE *errors = open_memstream(&reload->text, &reload->text_len);
    reload->mistakes = -1;
    if (errors == NULL)
        return;
    reload->mistakes = glbp_config_load(reload->path, errors, &reload->config);
    if (reload->mistakes == 0)
        (void)glbp_config_needs_restart(reload->agent->config, reload->config, errors);
    (void)fclose(errors);
}

/* ---- on the loop ---- */

static void configure_group(struct glbp_agent *agent, struct glbp_agent_group *group,
                            const struct glbp_group_section *section)
{
    struct glbp_group_config core = section->core;
    struct glbp_input input = {.kind = GLBP_IN_CONFIG};
    glbp_agent_complete(agent->config, &core);
    group->section = section;
    input.as.config = &core;
    (void)glbp_agent_step(agent, group, &input);
}

void glbp_agent_configure(struct glbp_agent *agent)
{
    for (size_t i = 0; i < agent->groups_n; i++)
        configure_group(agent, &agent->groups[i], &agent->config->groups[i]);
    if (!glbp_agent_tracks_renew(agent))
        glbp_log(4, "TRACK", "no memory to show the results of new checks");
    if (glbp_checks_reload(agent->checks, agent->config) != 0)
        glbp_log(4, "TRACK", "no memory to apply changed checks: the old ones go on");
}

static void swap_config(struct glbp_agent *agent, struct glbp_config *config)
{
    struct glbp_config *before = agent->config;
    agent->config = config;
    glbp_net_reload(agent->net, config);
    glbp_agent_configure(agent);
    if (glbp_http_reconfigure(agent->http, config) != 0)
        glbp_log(4, "HTTP", "no memory to apply changed limits: the old ones stay");
    glbp_log_set(config->log_level, config->log_json);
    glbp_config_free(before);
}

static const char *apply(struct glbp_agent *agent, struct glbp_reload *reload)
{
    if (reload->mistakes != 0)
        return reload->text != NULL && reload->text_len > 0 ? reload->text : "no memory to read it";
    struct glbp_keychain *keychain;
    int result = glbp_agent_keychain(agent->config->cluster, reload->config, &keychain);
    if (result != 0)
        return glbp_strerror(result);
    result = glbp_config_keep_running(agent->config, reload->config);
    if (result != 0) {
        glbp_agent_keychain_free(keychain);
        return glbp_strerror(result);
    }
    glbp_agent_keychain_free(agent->keychain);
    agent->keychain = keychain;
    swap_config(agent, reload->config);
    reload->config = NULL;
    agent->keys_checked_ms = 0;
    glbp_agent_check_keys(agent);
    agent->shown_stale = true;
    return NULL;
}

/* One log line a line of text. */
static void log_lines(int severity, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        if (len > 0)
            glbp_log(severity, "CONFIG", "%.*s", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void begin_again(struct glbp_agent *agent, const struct glbp_reload *before);

static void finish(uv_work_t *work, int status)
{
    struct glbp_reload *reload = work->data;
    struct glbp_agent *agent = reload->agent;
    agent->reload = NULL;
    const char *error =
        agent->stopping || status != 0 ? "the agent is stopping" : apply(agent, reload);
    agent->counters.reloads++;
    if (error != NULL) {
        agent->counters.reload_errors++;
        log_lines(3, error);
        glbp_log(3, "CONFIG", "reload refused: nothing was changed");
    } else {
        log_lines(4, reload->text_len > 0 ? reload->text : "");
        glbp_log(5, "CONFIG", "reloaded %s", reload->path != NULL ? reload->path : "the defaults");
    }
    for (size_t i = 0; i < reload->tokens_n && !agent->stopping; i++) {
        json_t *result =
            error == NULL && reload->text_len > 0 ? json_pack("{s:s}", "text", reload->text) : NULL;
        glbp_control_answer(agent->control, reload->tokens[i], result, error);
    }
    if (reload->again && !agent->stopping)
        begin_again(agent, reload);
    glbp_config_free(reload->config);
    free(reload->path);
    free(reload->text);
    free(reload);
}

static struct glbp_reload *begin(struct glbp_agent *agent)
{
    struct glbp_reload *reload = calloc(1, sizeof(*reload));
    if (reload == NULL)
        return NULL;
    reload->agent = agent;
    reload->work.data = reload;
    if (agent->config->path != NULL && (reload->path = strdup(agent->config->path)) == NULL) {
        free(reload);
        return NULL;
    }
    agent->reload = reload;
    (void)uv_queue_work(&agent->loop, &reload->work, read_file, finish);
    return reload;
}

/* Those who asked while the file was being read get another reading, all of them together. */
static void begin_again(struct glbp_agent *agent, const struct glbp_reload *before)
{
    struct glbp_reload *reload = begin(agent);
    if (reload == NULL) {
        for (size_t i = 0; i < before->next_tokens_n; i++)
            glbp_control_answer(agent->control, before->next_tokens[i], NULL, "no memory");
        return;
    }
    reload->tokens_n = before->next_tokens_n;
    memcpy(reload->tokens, before->next_tokens, sizeof(reload->tokens));
}

bool glbp_agent_reload(struct glbp_agent *agent, uint64_t token)
{
    struct glbp_reload *reload = agent->reload;
    if (reload == NULL) {
        reload = begin(agent);
        if (reload != NULL && token != 0)
            reload->tokens[reload->tokens_n++] = token;
        return reload != NULL;
    }
    reload->again = true;
    if (token == 0)
        return true;
    if (reload->next_tokens_n == GLBP_RELOAD_WAITERS)
        return false;
    reload->next_tokens[reload->next_tokens_n++] = token;
    return true;
}
