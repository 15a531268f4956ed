/* The order matters once: the default url of a group is made from the own address, which transport
 * settles. */
#include "agent/config/rules.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE_DIR "/var/lib/glbpd"
#define CONTROL   "/run/glbpd/control.sock"

char *glbp_rules_copy(struct glbp_mistakes *mistakes, const char *text)
{
    char *copy = strdup(text);

    mistakes->no_memory |= copy == NULL;
    return copy;
}

/* The host name as people type it may have capitals, a node name has none. */
static void settle_node(struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    const struct glbp_path *path = GLBP_AT(NULL, "node");
    char host[256] = "";
    const char *node = draft->node;

    if (glbp_draft_given(draft->json, NULL, "node") != NULL) {
        if (node != NULL && !glbp_node_valid(node, strlen(node)))
            glbp_mistake_text(mistakes, path, node, "is no node name: 1 to 63 of a-z 0-9 . _ -");
    } else {
        if (gethostname(host, sizeof host - 1) != 0)
            host[0] = '\0';
        for (char *c = host; *c != '\0'; c++)
            *c = (char)tolower((unsigned char)*c);
        node = host;
        if (!glbp_node_valid(node, strlen(node)))
            glbp_mistake(mistakes, path,
                         "the host name \"%s\" is no node name (1 to 63 of a-z 0-9 . _ -): set "
                         "\"node\"",
                         node);
    }
    if (node != NULL && strlen(node) <= GLBP_NODE_MAX)
        memcpy(draft->config->node, node, strlen(node) + 1);
}

/* NULL becomes the default, "" nothing. */
static void settle_path(char **path, const char *fallback, struct glbp_mistakes *mistakes)
{
    if (*path == NULL) {
        *path = glbp_rules_copy(mistakes, fallback);
    } else if ((*path)[0] == '\0') {
        free(*path);
        *path = NULL;
    }
}

/* `frontend` is the browser's: its form was read, and a gateway without url is of no use to it. */
static void check_frontend(const struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    const struct glbp_gateway_draft *gateways = draft->frontend_gateways.items;
    const struct glbp_path *path = GLBP_AT(GLBP_AT(NULL, "frontend"), "gateways");

    for (size_t i = 0; i < draft->frontend_gateways.n; i++)
        if (json_is_object(gateways[i].json) &&
            glbp_draft_given(gateways[i].json, NULL, "url") == NULL)
            glbp_mistake(mistakes, GLBP_AT_INDEX(path, i), "has no \"url\"");
}

void glbp_rules(struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    struct glbp_config *config = draft->config;

    settle_node(draft, mistakes);
    if (draft->cluster != NULL)
        memcpy(config->cluster, draft->cluster, strlen(draft->cluster) + 1);
    settle_path(&config->state_dir, STATE_DIR, mistakes);
    settle_path(&config->control, CONTROL, mistakes);
    glbp_rules_transport(draft, mistakes);
    glbp_rules_auth(draft, mistakes);
    glbp_rules_http(draft, mistakes);
    glbp_rules_groups(draft, mistakes);
    check_frontend(draft, mistakes);
}
