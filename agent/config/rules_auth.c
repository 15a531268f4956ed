/* The key chain (protocol.md section 3). A chain that would cut nodes off by and by is a mistake
 * today: nobody looks at it on the day on which a window closes. */
#include <inttypes.h>

#include "agent/config/keyfile.h"
#include "agent/config/rules.h"

/* A side that is not given is that of `accept`, or open. A key must not be sent when the others no
 * longer accept it. */
static void settle_windows(struct glbp_key_draft *draft, struct glbp_mistakes *mistakes,
                           const struct glbp_path *path)
{
    if (draft->accept_until_ms == 0)
        draft->accept_until_ms = UINT64_MAX;
    if (draft->send_from_ms == 0)
        draft->send_from_ms = draft->accept_from_ms;
    if (draft->send_until_ms == 0)
        draft->send_until_ms = draft->accept_until_ms;
    if (draft->accept_from_ms >= draft->accept_until_ms)
        glbp_mistake(mistakes, GLBP_AT(path, "accept_until"), "is not after accept_from");
    else if (draft->send_from_ms >= draft->send_until_ms)
        glbp_mistake(mistakes,
                     GLBP_AT(path, glbp_draft_given(draft->json, NULL, "send_until") != NULL
                                       ? "send_until"
                                       : "send_from"),
                     "the key would never be sent: send_until is not after send_from");
    else if (draft->send_from_ms < draft->accept_from_ms)
        glbp_mistake(mistakes, GLBP_AT(path, "send_from"),
                     "is before accept_from: it would be sent when nobody accepts it");
    else if (draft->send_until_ms > draft->accept_until_ms)
        glbp_mistake(mistakes, GLBP_AT(path, "send_until"),
                     "is after accept_until: it would be sent when nobody accepts it");
}

static bool any_mistake(const struct glbp_mistakes *mistakes, const struct glbp_path *path)
{
    static const char *const keys[] = {"accept_from", "accept_until", "send_from", "send_until"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (glbp_mistakes_has(mistakes, GLBP_AT(path, keys[i])))
            return true;
    return false;
}

/* The id names the key in a datagram: two of one number would be a matter of luck. */
static void check_id(const struct glbp_key_draft *drafts, size_t i, struct glbp_mistakes *mistakes,
                     const struct glbp_path *path)
{
    if (glbp_draft_given(drafts[i].json, NULL, "id") == NULL)
        glbp_mistake(mistakes, path, "has no \"id\"");
    for (size_t j = 0; j < i && drafts[i].id != 0; j++) {
        if (drafts[j].id == drafts[i].id) {
            glbp_mistake(mistakes, GLBP_AT(path, "id"), "%" PRIu32 " is taken by auth.keys[%zu]",
                         drafts[i].id, j);
            return;
        }
    }
}

/* Bytes go from the file straight into the config, which is the only place that is locked. */
static void settle_key(struct glbp_key_draft *draft, struct glbp_mistakes *mistakes,
                       const struct glbp_path *path, struct glbp_key *ret)
{
    char buf[GLBP_KEYFILE_WHY_SIZE];
    const char *why = NULL;

    if (!any_mistake(mistakes, path))
        settle_windows(draft, mistakes, path);
    if (draft->file != NULL)
        why = glbp_keyfile_read(draft->file, ret->bytes, buf);
    else if (glbp_draft_given(draft->json, NULL, "file") == NULL)
        glbp_mistake(mistakes, path, "has no \"file\"");
    if (why != NULL)
        glbp_mistake_text(mistakes, GLBP_AT(path, "file"), draft->file, "%s", why);
    ret->id = draft->id;
    ret->accept_from_ms = draft->accept_from_ms;
    ret->accept_until_ms = draft->accept_until_ms;
    ret->send_from_ms = draft->send_from_ms;
    ret->send_until_ms = draft->send_until_ms;
}

void glbp_rules_auth(struct glbp_draft *draft, struct glbp_mistakes *mistakes)
{
    const struct glbp_path *auth = GLBP_AT(NULL, "auth");
    struct glbp_key_draft *keys = draft->keys.items;
    struct glbp_config *config = draft->config;

    if (glbp_draft_given(draft->json, "auth", "mode") != NULL && draft->keys.n == 0 &&
        !glbp_mistakes_has(mistakes, GLBP_AT(auth, "keys")))
        glbp_mistake(mistakes, GLBP_AT(auth, "mode"), "means nothing without auth.keys");
    for (size_t i = 0; i < draft->keys.n; i++) {
        const struct glbp_path *path = GLBP_AT_INDEX(GLBP_AT(auth, "keys"), i);

        if (!json_is_object(keys[i].json))
            continue;
        check_id(keys, i, mistakes, path);
        settle_key(&keys[i], mistakes, path, &config->auth.keys[i]);
    }
    config->auth.keys_n = draft->keys.n;
}
