/* HTTP: where it listens and whom it answers (http.md section 1). */
#include <stdlib.h>
#include <string.h>

#include "agent/config/rules.h"
#include "agent/config/values.h"
#include "agent/net/addr.h"

#define PORT       8080
#define ADMIN_PORT 8081
#define LISTEN     "0.0.0.0:8080"
#define ADMIN      "127.0.0.1:8081"

/* text NULL: the default if the key is absent, else it was wrong already. Port 0: any free one. */
static bool settle_listen(const struct glbp_draft *draft, struct glbp_mistakes *mistakes,
                          const char *key, const char *text, const char *fallback, uint16_t port,
                          struct glbp_addr *ret)
{
    const char *why;

    if (text == NULL && glbp_draft_given(draft->json, "http", key) == NULL)
        text = fallback;
    if (text == NULL || text[0] == '\0')
        return false;
    why = glbp_value_address(text, port, ret);
    if (why != NULL)
        glbp_mistake_text(mistakes, GLBP_AT(GLBP_AT(NULL, "http"), key), text, "%s", why);
    return why == NULL;
}

/* Told here, since bind() would tell it as "in use" after everything else has started. */
static void check_clash(const struct glbp_config *config, struct glbp_mistakes *mistakes)
{
    const struct glbp_addr *listen = &config->http.listen;
    const struct glbp_addr *admin = &config->http.admin_listen;

    if (!config->http.enabled || !config->http.admin_enabled || listen->port == 0 ||
        listen->port != admin->port)
        return;
    if (glbp_addr_cmp(listen, admin) == 0 || glbp_addr_is_any(listen) || glbp_addr_is_any(admin))
        glbp_mistake(mistakes, GLBP_AT(GLBP_AT(NULL, "http"), "admin_listen"),
                     "port %u is that of http.listen: take another", (unsigned)admin->port);
}

/* As in a Host header: a name or an address, with or without a port. */
static void settle_hosts(struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    const struct glbp_path *path = GLBP_AT(GLBP_AT(NULL, "http"), "hosts");

    for (size_t i = 0; i < draft->hosts.n; i++) {
        const char *text = draft->hosts.items[i];
        char host[GLBP_HOST_SIZE];
        int port;
        const char *why = text == NULL ? NULL : glbp_value_endpoint(text, host, &port);

        if (why != NULL)
            glbp_mistake_text(mistakes, GLBP_AT_INDEX(path, i), text, "%s", why);
    }
    draft->config->http.hosts = draft->hosts.items;
    draft->config->http.hosts_n = draft->hosts.n;
    draft->hosts = (struct glbp_texts){0};
}

static void settle_cors(struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    const struct glbp_path *path = GLBP_AT(GLBP_AT(NULL, "http"), "cors");
    const char *first = draft->cors.n > 0 ? draft->cors.items[0] : NULL;

    /* "*" alone is what an empty list means. */
    if (draft->cors.n == 1 && first != NULL && strcmp(first, "*") == 0)
        return;
    for (size_t i = 0; i < draft->cors.n; i++) {
        const char *text = draft->cors.items[i];
        const char *why = text == NULL ? NULL : glbp_value_origin(text);

        if (text != NULL && strcmp(text, "*") == 0)
            why = "allows every origin: leave the others out";
        if (why != NULL)
            glbp_mistake_text(mistakes, GLBP_AT_INDEX(path, i), text, "%s", why);
    }
    draft->config->http.cors = draft->cors.items;
    draft->config->http.cors_n = draft->cors.n;
    draft->cors = (struct glbp_texts){0};
}

void glbp_rules_http(struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    struct glbp_config *config = draft->config;

    config->http.enabled = settle_listen(draft, mistakes, "listen", draft->http_listen, LISTEN,
                                         PORT, &config->http.listen);
    config->http.admin_enabled = settle_listen(draft, mistakes, "admin_listen", draft->admin_listen,
                                               ADMIN, ADMIN_PORT, &config->http.admin_listen);
    check_clash(config, mistakes);
    settle_hosts(draft, mistakes);
    settle_cors(draft, mistakes);
}
