/* What the commands of glbpctl do (http.md section 2). */
#include <string.h>

#include "agent/inside.h"

static int refuse(char *err, size_t errcap, const char *format, const char *word)
{
    (void)snprintf(err, errcap, format, word);
    return GLBP_E_REFUSED;
}

static int show_status(struct glbp_agent *agent, json_t **ret_result)
{
    struct glbp_view view;
    glbp_agent_view(agent, &view);
    *ret_result = glbp_render_status(&view);
    return 0;
}

static int show_version(struct glbp_agent *agent, json_t **ret_result)
{
    *ret_result = json_pack("{s:s, s:s}", "version", GLBP_VERSION, "node", agent->config->node);
    return 0;
}

static int show_pool(const struct glbp_agent_group *group, json_t **ret_result, char *err,
                     size_t errcap)
{
    const struct glbp_group_config *config = glbp_group_config(group->group);
    const struct glbp_table *table = glbp_group_table(group->group);
    if (table->stamp.term == 0)
        return refuse(err, errcap, "group %s has no table yet: no AVG was elected so far",
                      config->name);
    *ret_result = glbp_render_pool(table, config->id);
    return 0;
}

static int command_group(struct glbp_agent *agent, struct glbp_agent_group *group,
                         enum glbp_command command, uint32_t value, char *err, size_t errcap)
{
    struct glbp_input input = {.kind = GLBP_IN_COMMAND};
    const struct glbp_group_config *config = glbp_group_config(group->group);
    input.as.command.command = command;
    input.as.command.value = value;
    int result = glbp_agent_step(agent, group, &input);
    if (result == GLBP_E_ARG)
        return refuse(err, errcap, "the weight is above weighting.max of group %s", config->name);
    if (result != 0)
        return refuse(err, errcap,
                      "group %s: this node is not the AVG, or no standby that is not draining is "
                      "there to take over",
                      config->name);
    return 0;
}

static int change(struct glbp_agent *agent, const struct glbp_control_request *req,
                  enum glbp_command command, char *err, size_t errcap)
{
    if (strcmp(req->group, "all") == 0) {
        /* Else some groups would carry it out before another one refuses. */
        if (command != GLBP_CMD_DRAIN && command != GLBP_CMD_UNDRAIN)
            return refuse(err, errcap, "%s", "name one group: all is for drain and undrain only");
        for (size_t i = 0; i < agent->groups_n; i++) {
            int result = command_group(agent, &agent->groups[i], command, req->weight, err, errcap);
            if (result != 0)
                return result;
        }
        return 0;
    }
    struct glbp_agent_group *group = glbp_agent_group_by_word(agent, req->group);
    if (group == NULL)
        return refuse(err, errcap, "there is no group %s here; see: glbpctl status --brief",
                      req->group);
    return command_group(agent, group, command, req->weight, err, errcap);
}

int glbp_agent_command(void *ctx, const struct glbp_control_request *req, json_t **ret_result,
                       char *err, size_t errcap)
{
    struct glbp_agent *agent = ctx;
    struct glbp_agent_group *group = &agent->groups[0];
    switch (req->command) {
    case GLBP_CONTROL_STATUS:
    case GLBP_CONTROL_MEMBERS:
        return show_status(agent, ret_result);
    case GLBP_CONTROL_VERSION:
        return show_version(agent, ret_result);
    case GLBP_CONTROL_POOL:
        if (req->group[0] != '\0')
            group = glbp_agent_group_by_word(agent, req->group);
        if (group == NULL)
            return refuse(err, errcap, "there is no group %s here; see: glbpctl status --brief",
                          req->group);
        return show_pool(group, ret_result, err, errcap);
    case GLBP_CONTROL_DRAIN:
        return change(agent, req, GLBP_CMD_DRAIN, err, errcap);
    case GLBP_CONTROL_UNDRAIN:
        return change(agent, req, GLBP_CMD_UNDRAIN, err, errcap);
    case GLBP_CONTROL_WEIGHT:
        return change(agent, req, req->weight_auto ? GLBP_CMD_WEIGHT_AUTO : GLBP_CMD_WEIGHT, err,
                      errcap);
    case GLBP_CONTROL_RESIGN:
        return change(agent, req, GLBP_CMD_RESIGN, err, errcap);
    case GLBP_CONTROL_RELOAD:
        return glbp_agent_reload(agent, req->token, err, errcap) == 0 ? GLBP_CONTROL_LATER
                                                                      : GLBP_E_REFUSED;
    case GLBP_CONTROL_FOLLOW:
        break; /* answered by the control socket itself */
    }
    return refuse(err, errcap, "%s", "unknown command");
}
