/* The log: wording, levels, and that nothing it meets ever holds up its caller. */
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/log.h"
#include "agent/log_line.h"
#include "proto/err.h"

#define WALL_MS UINT64_C(1796000460123) /* 2026-11-30T01:01:00.123Z */

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assert failed: %s\n", file, line, what);
    abort();
}

/* ---- wording ---- */

START_TEST(x17_text_line)
{
    char line[GLBP_LOG_LINE_SIZE];
    size_t len = glbp_log_line(WALL_MS, 4, "CONFIG", "a\nb \x1b[31m \\ \x80", false, line);

    ck_assert_str_eq(line, "2026-11-30T01:01:00.123Z %GLBP-4-CONFIG: a\\nb \\x1b[31m \\\\ \\x80");
    ck_assert_uint_eq(len, strlen(line));
    glbp_log_line(0, 3, "X", "", false, line);
    ck_assert_str_eq(line, "1970-01-01T00:00:00.000Z %GLBP-3-X: ");
    glbp_log_line(UINT64_MAX, 3, "X", "", false, line); /* no year that a clock can say: no crash */
}
END_TEST

/* However long and hostile a text is, it is one line of JSON, cut and marked. */
START_TEST(x17_longest_line)
{
    char text[5000];
    char line[GLBP_LOG_LINE_SIZE];

    for (int c = 1; c < 256; c++) {
        json_t *json;
        const char *said;

        memset(text, c, sizeof text - 1);
        text[sizeof text - 1] = '\0';
        ck_assert_uint_lt(glbp_log_line(WALL_MS, 6, "STATECHANGE", text, true, line),
                          sizeof line - 1);
        json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_ptr_nonnull(json);
        said = json_string_value(json_object_get(json, "text"));
        ck_assert_str_eq(said + strlen(said) - 3, "...");
        ck_assert_ptr_null(strpbrk(line, "\n\x1b"));
        json_decref(json);
    }
}
END_TEST

static struct glbp_event event(enum glbp_event_kind kind)
{
    struct glbp_event made = {.kind = kind, .at = {.mono_ms = 1, .wall_ms = WALL_MS}};

    return made;
}

START_TEST(event_as_text)
{
    struct glbp_event lost = event(GLBP_EV_STATE);
    char line[GLBP_LOG_LINE_SIZE];

    lost.from = GLBP_STANDBY;
    lost.to = GLBP_ACTIVE;
    lost.reason = GLBP_WHY_AVG_LOST;
    lost.silent_ms = 3502;
    lost.limit_ms = 3500;
    lost.term = 1796000000000;
    memcpy(lost.node, "bff-1", 6);
    glbp_log_line_event(&lost, "web", 10, false, line);
    ck_assert_str_eq(line,
                     "2026-11-30T01:01:00.123Z %GLBP-6-STATECHANGE: web Grp 10 state Standby -> "
                     "Active (AVG bff-1 lost: silent for 3502 ms, hold 3500) term "
                     "1796000000000");
}
END_TEST

static const char *string_at(const json_t *json, const char *key)
{
    const char *value = json_string_value(json_object_get(json, key));

    return value == NULL ? "(absent)" : value;
}

START_TEST(event_as_json)
{
    struct glbp_event full = event(GLBP_EV_FORWARDER);
    char line[GLBP_LOG_LINE_SIZE];
    json_t *json;

    full.reason = GLBP_WHY_AVG_LOST;
    full.slot = 3;
    full.from = GLBP_SLOT_SUSPECT;
    full.to = GLBP_SLOT_DOWN;
    full.term = 7;
    full.value = GLBP_UINT53_MAX;
    full.stamp = (struct glbp_stamp){.term = 7, .version = 9, .avg = "bff.1"};
    memcpy(full.node, "bff-1", 6);
    memcpy(full.other, "bff-2", 6);
    ck_assert(glbp_addr_parse("10.0.0.11", 9, &full.addr));
    full.addr.port = 3222;
    glbp_log_line_event(&full, "web", 10, true, line);
    json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(json != NULL, "%s", line);
    ck_assert_str_eq(string_at(json, "time"), "2026-11-30T01:01:00.123Z");
    ck_assert_str_eq(string_at(json, "mnemonic"), "FWDSTATECHANGE");
    ck_assert_int_eq(json_integer_value(json_object_get(json, "severity")), 6);
    ck_assert_str_eq(string_at(json, "event"), "forwarder");
    ck_assert_str_eq(string_at(json, "group"), "web");
    ck_assert_int_eq(json_integer_value(json_object_get(json, "id")), 10);
    ck_assert_str_eq(string_at(json, "reason"), "avg_lost");
    ck_assert_str_eq(string_at(json, "from"), glbp_slot_state_name(GLBP_SLOT_SUSPECT));
    ck_assert_str_eq(string_at(json, "to"), glbp_slot_state_name(GLBP_SLOT_DOWN));
    ck_assert_str_eq(string_at(json, "node"), "bff-1");
    ck_assert_str_eq(string_at(json, "other"), "bff-2");
    ck_assert_str_eq(string_at(json, "address"), "10.0.0.11");
    ck_assert_int_eq(json_integer_value(json_object_get(json, "port")), 3222);
    ck_assert_str_eq(string_at(json, "stamp"), "7.bff.1.9");
    ck_assert_int_eq(json_integer_value(json_object_get(json, "slot")), 3);
    ck_assert_uint_eq((uint64_t)json_integer_value(json_object_get(json, "value")),
                      GLBP_UINT53_MAX);
    ck_assert_ptr_null(json_object_get(json, "silent_ms"));
    json_decref(json);
}
END_TEST

/* Every kind, with every number of its states, makes a line. */
START_TEST(every_event)
{
    for (int kind = 0; kind < GLBP_EVENT_KINDS; kind++) {
        for (int reason = 0; reason < GLBP_REASON_COUNT; reason++) {
            struct glbp_event any = event((enum glbp_event_kind)kind);
            char line[GLBP_LOG_LINE_SIZE];
            json_t *json;

            any.reason = (enum glbp_reason)reason;
            any.from = (uint8_t)reason;
            any.to = 255;
            glbp_log_line_event(&any, "web", 1023, true, line);
            json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
            ck_assert_msg(json != NULL, "%s", line);
            ck_assert_str_ne(string_at(json, "event"), "(absent)");
            json_decref(json);
        }
    }
}
END_TEST

/* ---- the writer ---- */

static int ends[2]; /* of the pipe that stands for stderr */

static void catch_stderr(void)
{
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
}

/* All that comes until the writers are gone; a heap string. */
static void *read_pipe(void *arg)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    char block[65536];
    ssize_t n;

    (void)arg;
    while ((n = read(ends[0], block, sizeof block)) > 0)
        fwrite(block, 1, (size_t)n, out);
    close(ends[0]);
    fclose(out);
    return text;
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;

    for (text = strstr(text, word); text != NULL; text = strstr(text + 1, word))
        n++;
    return n;
}

START_TEST(levels)
{
    struct glbp_event debug = event(GLBP_EV_STATE); /* severity 6 */
    char *text;

    catch_stderr();
    glbp_log(6, "CONFIG", "before %d", 1); /* without a thread: written at once */
    ck_assert_int_eq(glbp_log_start(5, false), 0);
    glbp_log(5, "CONFIG", "notice");
    glbp_log(6, "CONFIG", "quiet");
    glbp_log_event(&debug, "web", 1);
    glbp_log_set(6, true);
    glbp_log_event(&debug, "web", 1);
    glbp_log_stop();
    glbp_log(6, "CONFIG", "after");
    ck_assert_int_eq(glbp_log_start(6, false), 0); /* and again */
    glbp_log(6, "CONFIG", "again");
    glbp_log_stop();
    close(STDERR_FILENO);
    text = read_pipe(NULL);
    ck_assert_uint_eq(count(text, "\n"), 5);
    ck_assert_ptr_nonnull(strstr(text, "%GLBP-6-CONFIG: before 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "%GLBP-5-CONFIG: notice\n"));
    ck_assert_ptr_null(strstr(text, "quiet"));
    ck_assert_uint_eq(count(text, "STATECHANGE"), 1);
    ck_assert_ptr_nonnull(strstr(text, "\"text\":\"after\"}\n"));
    ck_assert_ptr_nonnull(strstr(text, "%GLBP-6-CONFIG: again\n"));
    free(text);
}
END_TEST

START_TEST(journald)
{
    struct stat st;
    char stream[64];
    char *text;

    catch_stderr();
    ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    ck_assert_int_eq(glbp_log_start(7, false), 0);
    glbp_log(4, "CONFIG", "x");
    glbp_log_stop();
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + 1);
    setenv("JOURNAL_STREAM", stream, 1); /* inherited, but stderr goes elsewhere */
    ck_assert_int_eq(glbp_log_start(7, false), 0);
    glbp_log(4, "CONFIG", "y");
    glbp_log_stop();
    close(STDERR_FILENO);
    text = read_pipe(NULL);
    ck_assert_int_eq(strncmp(text, "<4>2", 4), 0);
    ck_assert_uint_eq(count(text, "<4>"), 1);
    free(text);
}
END_TEST

static void log_lines(int from, int n)
{
    for (int i = from; i < from + n; i++)
        glbp_log(6, "POOL", "line %d of a text that fills a pipe soon %060d", i, i);
}

/* The first is told, those within 10 s are counted, and the next one says how many. */
START_TEST(x17_one_line_a_cause)
{
    struct glbp_log_limit limit = {0};
    pthread_t reader;
    char *text;

    catch_stderr();
    for (uint64_t ms = 5; ms < 10000; ms += 1000)
        glbp_log_limited(&limit, ms, 4, "CONFIG", "line %d", 1);
    glbp_log_limited(&limit, 10005, 7, "CONFIG", "line %d", 2); /* not printed, not counted */
    glbp_log_limited(&limit, 10005, 4, "CONFIG", "line %d", 3);
    glbp_log_limited(&limit, 30000, 4, "CONFIG", "line %d", 4);
    close(STDERR_FILENO);
    ck_assert_int_eq(pthread_create(&reader, NULL, read_pipe, NULL), 0);
    pthread_join(reader, (void **)&text);
    ck_assert_uint_eq(count(text, "\n"), 3);
    ck_assert_ptr_nonnull(strstr(text, "%GLBP-4-CONFIG: line 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "line 3 (9 more since the last such line)\n"));
    ck_assert_ptr_nonnull(strstr(text, "line 4\n"));
    free(text);
}
END_TEST

/* Nobody reads: the caller goes on, and what was dropped is counted to the last line. */
START_TEST(r33_blocked_pipe)
{
    uint64_t begun_ms;
    pthread_t reader;
    char *text;
    unsigned long dropped;

    catch_stderr();
    ck_assert_int_eq(glbp_log_start(6, false), 0);
    begun_ms = glbp_clock_mono_ms();
    log_lines(0, 20000);
    ck_assert_uint_lt(glbp_clock_mono_ms() - begun_ms, 3000);
    ck_assert_int_eq(pthread_create(&reader, NULL, read_pipe, NULL), 0);
    usleep(500000); /* stopping waits for a second only, and the machine may be busy */
    begun_ms = glbp_clock_mono_ms();
    glbp_log_stop();
    ck_assert_uint_lt(glbp_clock_mono_ms() - begun_ms, 3000);
    close(STDERR_FILENO);
    pthread_join(reader, (void **)&text);
    ck_assert_ptr_nonnull(strstr(text, " lines were dropped"));
    dropped = strtoul(strstr(strstr(text, "GLBP-4-LOG: "), ": ") + 2, NULL, 10);
    ck_assert_uint_eq(count(text, "-POOL: line ") + dropped, 20000);
    ck_assert_uint_eq(glbp_log_dropped(), dropped);
    free(text);
}
END_TEST

/* Nobody ever reads: stopping takes a second at most, and nothing blocks later. */
START_TEST(pipe_blocked_for_ever)
{
    uint64_t begun_ms = glbp_clock_mono_ms();

    catch_stderr();
    ck_assert_int_eq(glbp_log_start(6, false), 0);
    log_lines(0, 5000);
    glbp_log_stop();
    log_lines(5000, 5000);
    ck_assert_int_eq(glbp_log_start(6, false), -1);
    ck_assert_uint_lt(glbp_clock_mono_ms() - begun_ms, 3000);
}
END_TEST

START_TEST(reader_gone)
{
    catch_stderr();
    close(ends[0]);
    ck_assert_int_eq(glbp_log_start(6, false), 0);
    log_lines(0, 100);
    glbp_log_stop();
}
END_TEST

START_TEST(shared_non_blocking_pipe)
{
    pthread_t reader;
    char *text;

    catch_stderr();
    ck_assert_int_eq(fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(glbp_log_start(6, false), 0);
    log_lines(0, 3000); /* more than a pipe holds, less than the queue */
    ck_assert_int_eq(pthread_create(&reader, NULL, read_pipe, NULL), 0);
    glbp_log_stop();
    close(STDERR_FILENO);
    pthread_join(reader, (void **)&text);
    ck_assert_uint_eq(count(text, "-POOL: line "), 3000);
    free(text);
}
END_TEST

static void *log_many(void *arg)
{
    log_lines(*(int *)arg, 500);
    return NULL;
}

START_TEST(many_threads)
{
    pthread_t threads[4];
    int from[4] = {10000, 20000, 30000, 40000};
    static bool seen[50000];
    char *text;

    catch_stderr();
    ck_assert_int_eq(fcntl(ends[0], F_SETPIPE_SZ, 1 << 20) > 0, 1);
    ck_assert_int_eq(glbp_log_start(6, false), 0);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, log_many, &from[i]), 0);
    glbp_log_set(7, false);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    glbp_log_stop();
    close(STDERR_FILENO);
    text = read_pipe(NULL);
    ck_assert_uint_eq(count(text, "\n"), 2000);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        long number = strtol(strstr(line, "-POOL: line ") + strlen("-POOL: line "), NULL, 10);

        ck_assert_int_ge(number, 10000);
        ck_assert_int_lt(number, 50000);
        ck_assert(!seen[number]);
        seen[number] = true;
    }
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tcase = tcase_create("log");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, x17_text_line);
    tcase_add_test(tcase, x17_longest_line);
    tcase_add_test(tcase, event_as_text);
    tcase_add_test(tcase, event_as_json);
    tcase_add_test(tcase, every_event);
    tcase_add_test(tcase, x17_one_line_a_cause);
    tcase_add_test(tcase, levels);
    tcase_add_test(tcase, journald);
    tcase_add_test(tcase, r33_blocked_pipe);
    tcase_add_test(tcase, pipe_blocked_for_ever);
    tcase_add_test(tcase, reader_gone);
    tcase_add_test(tcase, shared_non_blocking_pipe);
    tcase_add_test(tcase, many_threads);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
