/* What glbpctl prints: tests/golden/show/NAME.json in, NAME.VIEW.txt out. After a deliberate
 * change, `unit-ctl --rewrite` writes the texts anew; read the difference before it is committed.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ctl/show.h"
#include "agent/ctl/words.h"

static bool rewrite;

static const struct view {
    const char *input, *name;
    void (*print)(const struct glbp_show *show, const json_t *json);
    bool colour;
} views[] = {
    {"three", "status", glbp_show_status, false},
    {"three", "brief", glbp_show_brief, false},
    {"three", "members", glbp_show_members, false},
    {"troubles", "status", glbp_show_status, false},
    {"troubles", "brief", glbp_show_brief, false},
    {"troubles", "members", glbp_show_members, false},
    {"troubles", "colour", glbp_show_status, true},
    {"duplicate", "status", glbp_show_status, false},
    {"duplicate", "brief", glbp_show_brief, false},
    {"least", "status", glbp_show_status, false},
    {"pool-three", "pool", glbp_show_pool, false},
    {"pool-degraded", "pool", glbp_show_pool, false},
    {"pool-degraded", "colour", glbp_show_pool, true},
    {"event", "event", glbp_show_event, false},
};
#define VIEWS (sizeof views / sizeof views[0])

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 65536);

    ck_assert_msg(file != NULL, "%s is missing; --rewrite makes it", path);
    ck_assert_uint_lt(fread(text, 1, 65535, file), 65535);
    fclose(file);
    return text;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(golden)
{
    const struct view *view = &views[_i];
    char json_path[512], text_path[512], *text = NULL, *want;
    size_t len = 0;
    struct glbp_show show = {.out = open_memstream(&text, &len), .colour = view->colour};
    json_t *json;

    snprintf(json_path, sizeof json_path, "%s/%s.json", GLBP_GOLDEN_SHOW, view->input);
    snprintf(text_path, sizeof text_path, "%s/%s.%s.txt", GLBP_GOLDEN_SHOW, view->input,
             view->name);
    json = json_load_file(json_path, 0, NULL);
    ck_assert_ptr_nonnull(json);
    view->print(&show, json);
    fclose(show.out);
    json_decref(json);
    if (rewrite)
        write_file(text_path, text);
    want = read_file(text_path);
    ck_assert_msg(strcmp(text, want) == 0, "%s is not what is printed now:\n%s", text_path, text);
    free(want);
    free(text);
}
END_TEST

/* An agent of another version, or none at all, may answer anything. */
START_TEST(any_json_is_shown_without_harm)
{
    static const char *const inputs[] = {
        "{}",
        "[]",
        "null",
        "{\"groups\":{}}",
        "{\"groups\":[1,null,{}]}",
        "{\"node\":1,\"groups\":[{\"members\":[{}],\"forwarders\":[{},3],\"checks\":[{}]}]}",
        "{\"warnings\":[1],\"gateways\":[[]],\"agents\":[null]}",
        "{\"groups\":[{\"members\":\"x\",\"forwarders\":{\"a\":1},\"checks\":5}]}",
    };
    char *text = NULL;
    size_t len = 0;

    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        json_t *json = json_loads(inputs[i], JSON_DECODE_ANY, NULL);

        ck_assert_ptr_nonnull(json);
        for (size_t k = 0; k < VIEWS; k++) {
            struct glbp_show show = {.out = open_memstream(&text, &len)};

            views[k].print(&show, json);
            fclose(show.out);
            ck_assert_ptr_null(strstr(text, "(null)"));
            free(text);
        }
        json_decref(json);
    }
}
END_TEST

START_TEST(durations)
{
    char text[GLBP_WORDS_SIZE];

    ck_assert_str_eq(glbp_words_seconds(3000, text), "3 sec");
    ck_assert_str_eq(glbp_words_seconds(350, text), "350 msec");
    ck_assert_str_eq(glbp_words_seconds(0, text), "0 sec");
    ck_assert_str_eq(glbp_words_left(-5, text), "0.000 sec");
    ck_assert_str_eq(glbp_words_left(3288, text), "3.288 sec");
    ck_assert_str_eq(glbp_words_ago(0, text), "00:00:00");
    ck_assert_str_eq(glbp_words_ago(-1, text), "00:00:00");
    ck_assert_str_eq(glbp_words_ago(86399999, text), "23:59:59");
    ck_assert_str_eq(glbp_words_ago(86400000 + 2 * 3600000, text), "1d02h");
    ck_assert_str_eq(glbp_words_ago((json_int_t)25 * 86400000, text), "3w4d");
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("ctl");
    TCase *tcase = tcase_create("show");
    SRunner *runner = srunner_create(suite);
    int failed;

    rewrite = argc > 1 && strcmp(argv[1], "--rewrite") == 0;
    tcase_add_loop_test(tcase, golden, 0, (int)VIEWS);
    tcase_add_test(tcase, any_json_is_shown_without_harm);
    tcase_add_test(tcase, durations);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
