/* The door (proto/core.h): what is out of its range is refused, and changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static struct rig rig;

static void open_rig(void)
{
    rig_start(&rig);
}

static void close_rig(void)
{
    rig_close(&rig);
}

/* One value out of its range each (http.md section 3). */
static void spoil(struct glbp_group_config *config, int which)
{
    switch (which) {
    case 0:
        config->name[0] = '\0';
        break;
    case 1:
        memset(config->name, 'x', sizeof(config->name));
        break;
    case 2:
        memset(config->url, 'x', sizeof(config->url));
        break;
    case 3:
        memset(config->agent_url, 'x', sizeof(config->agent_url));
        break;
    case 4:
        config->id = GLBP_GROUP_ID_MAX + 1;
        break;
    case 5:
        config->priority = 0;
        break;
    case 6:
        config->priority = 256;
        break;
    case 7:
        config->hello_ms = GLBP_HELLO_MS_MIN - 1;
        break;
    case 8:
        config->hold_ms = 3 * config->hello_ms - 1;
        break;
    case 9:
        config->hold_ms = GLBP_HOLD_MS_MAX + 1;
        break;
    case 10:
        config->redirect_ms = config->timeout_ms + 1;
        break;
    case 11:
        config->weight_max = 0;
        break;
    case 12:
        config->weight_upper = config->weight_max + 1;
        break;
    case 13:
        config->weight_lower = config->weight_upper + 1;
        break;
    case 14:
        config->max_forwarders = 0;
        break;
    case 15:
        config->max_members = 1;
        break;
    case 16:
        config->load_balancing = GLBP_LB_NONE + 1;
        break;
    default:
        config->url_allow_n = GLBP_URL_RULES_MAX + 1;
        break;
    }
}

START_TEST(a_config_out_of_range_is_refused)
{
    struct glbp_group_config bad = rig.config;
    ck_assert_int_eq(glbp_config_check(&bad), 0);
    spoil(&bad, _i);
    ck_assert_int_eq(glbp_config_check(&bad), GLBP_E_ARG);
    struct glbp_group *group = NULL;
    void *mem = malloc(glbp_group_size(8, 16));
    ck_assert_int_eq(glbp_group_init(mem, &bad, &rig.identity, rig.now, &group), GLBP_E_ARG);
    ck_assert_ptr_null(group);
    free(mem);
    struct glbp_input in = {.kind = GLBP_IN_CONFIG, .now = rig.now};
    in.as.config = &bad;
    ck_assert_int_eq(glbp_group_step(rig.group, &in, &rig.out), GLBP_E_ARG);
    ck_assert_int_eq(glbp_config_check(glbp_group_config(rig.group)), 0);
}
END_TEST

static void spoil_identity(struct glbp_identity *identity, int which)
{
    if (which == 0)
        memset(identity->node, 'x', sizeof(identity->node));
    else if (which == 1)
        (void)strcpy(identity->node, "Capital");
    else
        identity->incarnation = GLBP_UINT53_MAX + 1;
}

START_TEST(an_identity_out_of_range_is_refused)
{
    struct glbp_identity bad = rig.identity;
    struct glbp_group *group = NULL;
    void *mem = malloc(glbp_group_size(8, 16));
    spoil_identity(&bad, _i);
    ck_assert_int_eq(glbp_group_init(mem, &rig.config, &bad, rig.now, &group), GLBP_E_ARG);
    ck_assert_ptr_null(group);
    free(mem);
}
END_TEST

/* What the group was made with stays; so does the group that it is. */
START_TEST(a_config_of_another_group_is_refused)
{
    struct glbp_group_config others[4];
    for (size_t i = 0; i < 4; i++)
        others[i] = rig.config;
    others[0].id++;
    (void)strcpy(others[1].name, "mobile");
    others[2].max_members++;
    others[3].max_forwarders++;
    for (size_t i = 0; i < 4; i++) {
        struct glbp_input in = {.kind = GLBP_IN_CONFIG, .now = rig.now};
        in.as.config = &others[i];
        ck_assert_int_eq(glbp_group_step(rig.group, &in, &rig.out), GLBP_E_ARG);
    }
    const struct glbp_group_config *kept = glbp_group_config(rig.group);
    ck_assert_uint_eq(kept->id, rig.config.id);
    ck_assert_str_eq(kept->name, rig.config.name);
    ck_assert_uint_eq(kept->max_members, rig.config.max_members);
    ck_assert_uint_eq(kept->max_forwarders, rig.config.max_forwarders);
}
END_TEST

START_TEST(a_command_that_is_none_is_refused)
{
    ck_assert_int_eq(command(&rig, GLBP_CMD_WEIGHT, rig.config.weight_max + 1), GLBP_E_ARG);
    ck_assert_int_eq(command(&rig, (enum glbp_command)99, 0), GLBP_E_ARG);
    struct glbp_input in = {.kind = (enum glbp_input_kind)99, .now = rig.now};
    ck_assert_int_eq(glbp_group_step(rig.group, &in, &rig.out), GLBP_E_ARG);
    ck_assert_uint_eq(status_of(&rig).weight, rig.config.weight_max);
}
END_TEST

/* A term that no hello may carry is none that was kept. */
START_TEST(a_kept_term_beyond_the_greatest_counts_as_none)
{
    rig_close(&rig);
    rig_prepare(&rig);
    rig.identity.term = GLBP_TERM_MAX + 1;
    rig_open(&rig);
    ck_assert_uint_eq(status_of(&rig).term, 0);
    rig_close(&rig);
    rig_prepare(&rig);
    rig.identity.term = WALL;
    rig_open(&rig);
    ck_assert_uint_eq(status_of(&rig).term, WALL);
}
END_TEST

TCase *door_case(void)
{
    TCase *tcase = tcase_create("the door");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_loop_test(tcase, a_config_out_of_range_is_refused, 0, 18);
    tcase_add_loop_test(tcase, an_identity_out_of_range_is_refused, 0, 3);
    tcase_add_test(tcase, a_config_of_another_group_is_refused);
    tcase_add_test(tcase, a_command_that_is_none_is_refused);
    tcase_add_test(tcase, a_kept_term_beyond_the_greatest_counts_as_none);
    return tcase;
}
