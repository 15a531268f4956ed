/* SIGHUP and `glbpctl reload` (http.md section 3): the file is read off the loop; one with a
 * mistake changes nothing; what changed is applied without losing table, role or results of checks;
 * what needs a restart is named. */
#include <stdlib.h>
#include <string.h>

#include "agent/inside.h"

#define READ_LIMIT_MS 5000

/* The file, or what is wrong with it; the thread's until it is done. */
struct reading {
    struct glbp_job job;
    struct glbp_agent *agent; /* not touched by the thread, which may outlive it */
    char *path;               /* NULL: built-in defaults */
    char *text;               /* what there is to say: mistakes, or what needs a restart */
    size_t text_len;
    int mistakes;
    struct glbp_config *config;
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

static void read_file(struct glbp_job *job)
{
    struct reading *reading = (struct reading *)job;
    FILE *errors = open_memstream(&reading->text, &reading->text_len);
    reading->mistakes = -1;
    if (errors == NULL)
        return;
    reading->mistakes = glbp_config_load(reading->path, errors, &reading->config);
    (void)fclose(errors);
}

static void drop_reading(struct glbp_job *job)
{
    struct reading *reading = (struct reading *)job;
    glbp_config_free(reading->config);
    free(reading->path);
    free(reading->text);
    free(reading);
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

/* What needs a restart becomes the text of the reading. False: no memory. */
static bool name_restarts(const struct glbp_agent *agent, struct reading *reading)
{
    free(reading->text);
    reading->text = NULL;
    FILE *out = open_memstream(&reading->text, &reading->text_len);
    if (out == NULL)
        return false;
    (void)glbp_config_needs_restart(agent->config, reading->config, out);
    return fclose(out) == 0;
}

/* Returns NULL, or why nothing was changed. */
static const char *apply(struct glbp_agent *agent, struct reading *reading)
{
    if (agent->stopping)
        return "the agent is stopping";
    if (reading->mistakes != 0)
        return reading->text != NULL && reading->text_len > 0 ? reading->text
                                                              : "no memory to read it";
    struct glbp_keychain *keychain;
    int result = glbp_agent_keychain(agent->config->cluster, reading->config, &keychain);
    if (result != 0)
        return glbp_strerror(result);
    result = name_restarts(agent, reading)
                 ? glbp_config_keep_running(agent->config, reading->config)
                 : GLBP_E_FULL;
    if (result != 0) {
        glbp_agent_keychain_free(keychain);
        return glbp_strerror(result);
    }
    glbp_agent_keychain_free(agent->keychain);
    agent->keychain = keychain;
    swap_config(agent, reading->config);
    reading->config = NULL;
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

/* Tells all who wait, and nobody waits any more. text: "" for nothing to say. */
static void answer(struct glbp_agent *agent, struct glbp_reload_waiters *waiters, const char *text,
                   const char *error)
{
    for (size_t i = 0; i < waiters->n; i++) {
        json_t *result = error == NULL && *text != '\0' ? json_pack("{s:s}", "text", text) : NULL;
        glbp_control_answer(agent->control, waiters->tokens[i], result, error);
    }
    waiters->n = 0;
}

static void refuse(struct glbp_agent *agent, const char *error)
{
    agent->counters.reload_errors++;
    log_lines(3, error);
    glbp_log(3, "CONFIG", "reload refused: nothing was changed");
    answer(agent, &agent->reload.now, "", error);
}

static const char *path_of(const struct glbp_agent *agent)
{
    return agent->config->path != NULL ? agent->config->path : "the defaults";
}

static const char *begin(struct glbp_agent *agent);

static void on_read(struct glbp_job *job)
{
    struct reading *reading = (struct reading *)job;
    struct glbp_agent *agent = reading->agent;
    struct glbp_reload *reload = &agent->reload;
    bool hung = reload->state == GLBP_RELOAD_HUNG;
    (void)uv_timer_stop(&reload->limit);
    reload->state = GLBP_RELOAD_NONE;
    if (hung) { /* who waited was told that nothing changed */
        glbp_log(5, "CONFIG", "%s is read again: reload to apply it", path_of(agent));
    } else {
        const char *error = apply(agent, reading);
        if (error != NULL) {
            refuse(agent, error);
        } else {
            agent->counters.reloads++;
            log_lines(4, reading->text);
            glbp_log(5, "CONFIG", "reloaded %s", path_of(agent));
            answer(agent, &reload->now, reading->text, NULL);
        }
    }
    drop_reading(job);
    if (!reload->again)
        return;
    /* Those who asked while the file was being read get another reading, all of them together. */
    reload->again = false;
    reload->now = reload->next;
    reload->next.n = 0;
    const char *error = begin(agent);
    if (error != NULL)
        refuse(agent, error);
}

/* The thread is left behind; it is the only one, for nobody begins another reload before it ends.
 */
static void on_limit(uv_timer_t *timer)
{
    struct glbp_agent *agent = timer->data;
    struct glbp_reload *reload = &agent->reload;
    char error[512];
    reload->state = GLBP_RELOAD_HUNG;
    reload->again = false;
    (void)snprintf(error, sizeof(error), "%s: not read within %d s: does its file system answer?",
                   path_of(agent), READ_LIMIT_MS / 1000);
    answer(agent, &reload->next, "", error);
    refuse(agent, error);
}

/* Returns NULL, or why not. */
static const char *begin(struct glbp_agent *agent)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    if (reading == NULL)
        return "no memory to read it";
    reading->job.work = read_file;
    reading->job.done = on_read;
    reading->agent = agent;
    if (agent->config->path != NULL && (reading->path = strdup(agent->config->path)) == NULL)
        goto fail;
    if (glbp_jobs_run(agent->reload.jobs, &reading->job) != 0)
        goto fail;
    agent->reload.state = GLBP_RELOAD_READING;
    (void)uv_timer_start(&agent->reload.limit, on_limit, READ_LIMIT_MS, 0);
    return NULL;

fail:
    drop_reading(&reading->job);
    return "no memory or no thread to read it";
}

/* ---- the door ---- */

int glbp_agent_reload_init(struct glbp_agent *agent)
{
    int result = glbp_jobs_new(&agent->loop, drop_reading, &agent->reload.jobs);
    if (result != 0)
        return result;
    (void)uv_timer_init(&agent->loop, &agent->reload.limit);
    agent->reload.limit.data = agent;
    return 0;
}

void glbp_agent_reload_fini(struct glbp_agent *agent)
{
    if (agent->reload.jobs == NULL)
        return;
    glbp_jobs_close(agent->reload.jobs);
    uv_close((uv_handle_t *)&agent->reload.limit, NULL);
}

int glbp_agent_reload(struct glbp_agent *agent, uint64_t token, char *err, size_t errcap)
{
    struct glbp_reload *reload = &agent->reload;
    struct glbp_reload_waiters *waiters =
        reload->state == GLBP_RELOAD_NONE ? &reload->now : &reload->next;
    const char *error = NULL;
    if (reload->state == GLBP_RELOAD_HUNG) {
        (void)snprintf(err, errcap, "%s: an earlier reload still waits for it: nothing was changed",
                       path_of(agent));
        return GLBP_E_REFUSED;
    }
    if (token != 0 && waiters->n == GLBP_RELOAD_WAITERS)
        error = "too many wait for a reload already";
    else if (reload->state == GLBP_RELOAD_READING)
        reload->again = true;
    else
        error = begin(agent);
    if (error != NULL) {
        (void)snprintf(err, errcap, "%s", error);
        return GLBP_E_REFUSED;
    }
    if (token != 0)
        waiters->tokens[waiters->n++] = token;
    return 0;
}
