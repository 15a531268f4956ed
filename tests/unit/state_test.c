/* The state file: what it brings back, and every way in which a disk can let it down. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/state.h"
#include "proto/err.h"
#include "tests/unit/state_test.h"

#define WALL_MS      STATE_WALL_MS
#define DIR_TEMPLATE "/tmp/glbp-stateXXXXXX"

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assert failed: %s\n", file, line, what);
    abort();
}

static char dir[] = DIR_TEMPLATE;
static char file_path[64], temp_path[64], log_path[64];

static void make_dir(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(file_path, sizeof file_path, "%s/state", dir);
    snprintf(temp_path, sizeof temp_path, "%s/state.tmp", dir);
    snprintf(log_path, sizeof log_path, "%s.log", dir);
}

static void remove_dir(void)
{
    unlink(file_path);
    unlink(temp_path);
    unlink(log_path);
    rmdir(dir);
    memcpy(dir, DIR_TEMPLATE, sizeof dir);
}

/* The log goes to a file from here on; said() counts a word in it. */
static void catch_log(void)
{
    int fd = open(log_path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);

    ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    close(fd);
}

static size_t said(const char *word)
{
    char text[8192] = "";
    FILE *in = fopen(log_path, "r");
    size_t n = 0;

    ck_assert_ptr_nonnull(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        n++;
    return n;
}

/* ---- a table to keep ---- */

static struct glbp_member_entry members[2];
static struct glbp_slot_entry slots[1];

static struct glbp_table table(uint64_t term, uint64_t version)
{
    struct glbp_table made = {
        .stamp = {.term = term, .version = version, .avg = "bff-1"},
        .head = {.group_name = "web", .standby = "bff-2", .refresh_ms = 5000, .hold_ms = 3500},
        .dated_ms = 1000,
        .members_n = 2,
        .slots_n = 1,
        .members = members,
        .slots = slots,
    };

    for (size_t i = 0; i < 2; i++) {
        members[i] = (struct glbp_member_entry){
            .url = "http://10.0.0.1:3000", .weight = 100, .state = GLBP_MEMBER_LIVE};
        snprintf(members[i].node, GLBP_NODE_SIZE, "bff-%zu", i + 1);
        glbp_addr_parse("10.0.0.1", 8, &members[i].addr);
        members[i].addr.port = 3222;
    }
    slots[0] =
        (struct glbp_slot_entry){.slot = 1, .owner = "bff-1", .forwarder = "bff-1", .share = 100};
    return made;
}

static struct glbp_member_entry got_members[8];
static struct glbp_slot_entry got_slots[8];

static struct glbp_table storage(void)
{
    return (struct glbp_table){.members = got_members, .slots = got_slots};
}

static struct glbp_state_store *open_at(uint64_t wall_ms)
{
    struct glbp_state_store *store = glbp_state_open(dir, "bff-1", wall_ms);

    ck_assert_ptr_nonnull(store);
    return store;
}

static void put(struct glbp_state_store *store, uint32_t group, uint64_t term, uint64_t version)
{
    struct glbp_table made = table(term, version);

    glbp_state_put(store, group, WALL_MS, term, &made, 2000);
}

static uint64_t kept_version(const struct glbp_state_store *store, uint32_t group)
{
    struct glbp_table got = storage();

    return glbp_state_table(store, group, 1, 8, 8, &got) ? got.stamp.version : 0;
}

/* ---- what comes back ---- */

START_TEST(first_start)
{
    struct glbp_state_store *store;
    struct glbp_table got = storage();

    catch_log();
    store = open_at(WALL_MS);
    ck_assert_uint_eq(glbp_state_incarnation(store), WALL_MS);
    ck_assert_uint_eq(glbp_state_term(store, 10), 0);
    ck_assert(!glbp_state_table(store, 10, 1, 8, 8, &got));
    glbp_state_stop(store);
    ck_assert_uint_eq(said("\n"), 1);
    ck_assert_uint_eq(said("%GLBP-5-CONFIG: no state file"), 1);
    ck_assert_int_eq(access(file_path, F_OK), 0);
    ck_assert_int_ne(access(temp_path, F_OK), 0);
}
END_TEST

START_TEST(next_life)
{
    struct glbp_state_store *store = open_at(WALL_MS);
    struct glbp_table empty = {.stamp = {.term = 0}};
    struct glbp_table got = storage();
    struct stat st;

    put(store, 10, 7, 3);
    put(store, 11, 8, 4);
    glbp_state_put(store, 12, WALL_MS + 5, 9, &empty, 2000); /* a term, and no table yet */
    glbp_state_stop(store);
    ck_assert_int_eq(stat(file_path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);

    catch_log();
    store = open_at(WALL_MS - 3600000); /* the clock went back */
    ck_assert_uint_eq(glbp_state_incarnation(store), WALL_MS + 6);
    ck_assert_uint_eq(glbp_state_term(store, 10), 7);
    ck_assert_uint_eq(glbp_state_term(store, 11), 8);
    ck_assert_uint_eq(glbp_state_term(store, 12), 9);
    ck_assert_uint_eq(glbp_state_term(store, 13), 0);
    ck_assert(glbp_state_table(store, 10, 5, 8, 8, &got));
    ck_assert_uint_eq(got.stamp.version, 3);
    ck_assert_str_eq(got.stamp.avg, "bff-1");
    ck_assert_uint_eq(got.members_n, 2);
    ck_assert_str_eq(got.members[1].node, "bff-2");
    ck_assert_uint_eq(got.slots_n, 1);
    ck_assert_uint_eq(got.dated_ms, 5);
    ck_assert_uint_eq(kept_version(store, 11), 4);
    ck_assert(!glbp_state_table(store, 12, 5, 8, 8, &got));
    ck_assert_uint_eq(said("\n"), 0);
    ck_assert(!glbp_state_table(store, 10, 5, 1, 8, &got)); /* max_members was lowered */
    ck_assert_uint_eq(said("table of group 10 is not used"), 1);
    /* what no put replaced lives on */
    put(store, 10, 20, 1);
    glbp_state_stop(store);
    store = open_at(WALL_MS + 100000);
    ck_assert_uint_eq(glbp_state_incarnation(store), WALL_MS + 100000);
    ck_assert_uint_eq(glbp_state_term(store, 10), 20);
    ck_assert_uint_eq(kept_version(store, 11), 4);
    ck_assert_uint_eq(glbp_state_term(store, 12), 9);
    glbp_state_stop(store);
}
END_TEST

/* Killed as soon as it may speak, while the clock stands: the next life is another one. */
START_TEST(an_incarnation_is_kept_before_it_is_used)
{
    uint64_t begun_ms = glbp_clock_mono_ms();
    struct glbp_state_store *first = open_at(WALL_MS), *next;
    struct glbp_state_status status;

    glbp_state_status(first, &status);
    if (status.writes == 0) /* a busy disk is not waited for any longer */
        ck_assert_uint_ge(glbp_clock_mono_ms() - begun_ms, 500);
    while (status.writes == 0) {
        usleep(1000);
        glbp_state_status(first, &status);
    }
    next = open_at(WALL_MS);
    ck_assert_uint_gt(glbp_state_incarnation(next), glbp_state_incarnation(first));
    glbp_state_stop(first);
    glbp_state_stop(next);
}
END_TEST

START_TEST(a_term_never_goes_back)
{
    struct glbp_state_store *store = open_at(WALL_MS);

    put(store, 10, 7, 3);
    put(store, 10, 5, 4);
    glbp_state_stop(store);
    store = open_at(WALL_MS);
    ck_assert_uint_eq(glbp_state_term(store, 10), 7);
    glbp_state_stop(store);
}
END_TEST

START_TEST(no_directory_wanted)
{
    struct glbp_state_store *store = glbp_state_open(NULL, "bff-1", WALL_MS);
    struct glbp_state_status status = {.error = 1};

    ck_assert_uint_eq(glbp_state_incarnation(store), WALL_MS);
    put(store, 10, 7, 3);
    glbp_state_status(store, &status);
    ck_assert_int_eq(status.error, 0);
    glbp_state_stop(store);
    glbp_state_stop(NULL);
}
END_TEST

START_TEST(file_of_another_node)
{
    struct glbp_state_store *store = open_at(WALL_MS);

    put(store, 10, 7, 3);
    glbp_state_stop(store);
    catch_log();
    store = glbp_state_open(dir, "bff-2", 5);
    ck_assert_uint_eq(glbp_state_incarnation(store), 5);
    ck_assert_uint_eq(glbp_state_term(store, 10), 0);
    ck_assert_uint_eq(said("\n"), 1);
    ck_assert_uint_eq(said("was written by node bff-1, this one is bff-2"), 1);
    glbp_state_stop(store);
}
END_TEST

START_TEST(missing_directory_is_made)
{
    char inner[64];
    char path[80];
    struct glbp_state_store *store;
    struct stat st;

    snprintf(inner, sizeof inner, "%s/inner", dir);
    store = glbp_state_open(inner, "bff-1", WALL_MS);
    glbp_state_stop(store);
    ck_assert_int_eq(stat(inner, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0750);
    snprintf(path, sizeof path, "%s/state", inner);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(inner), 0);
}
END_TEST

/* ---- damage ---- */

static void write_state(const void *bytes, size_t len)
{
    int fd = open(file_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

/* Survived with one line, and the file is whole again afterwards. */
START_TEST(damaged_file)
{
    static const size_t cuts[] = {0, 3, 11, 43, 44, 60};
    size_t len;
    uint8_t *bytes = state_sealed(&len);
    struct glbp_state_store *store;

    write_state(bytes, _i < 6 ? cuts[_i] : len);
    if (_i == 6) {
        unlink(file_path);
        ck_assert_int_eq(mkdir(file_path, 0700), 0);
    }
    if (_i == 7) {
        unlink(file_path);
        ck_assert_int_eq(mkfifo(file_path, 0600), 0);
    }
    free(bytes);
    catch_log();
    store = open_at(WALL_MS);
    ck_assert_uint_eq(glbp_state_incarnation(store), WALL_MS);
    ck_assert_uint_eq(said("\n"), _i == 6 ? 2 : 1); /* no directory is written over */
    ck_assert_uint_eq(said("%GLBP-4-CONFIG: state file"), _i == 6 ? 2 : 1);
    glbp_state_stop(store);
    rmdir(file_path);
    if (_i == 6)
        return;
    store = open_at(WALL_MS);
    ck_assert_uint_eq(glbp_state_incarnation(store), WALL_MS + 1);
    glbp_state_stop(store);
}
END_TEST

/* ---- disks ---- */

static void await_status(struct glbp_state_store *store, uint64_t writes, uint64_t failures,
                         int error)
{
    struct glbp_state_status status;
    uint64_t end_ms = glbp_clock_mono_ms() + 20000;

    do {
        glbp_state_status(store, &status);
        if (status.writes >= writes && status.failures >= failures && status.error == error)
            return;
        usleep(5000);
    } while (glbp_clock_mono_ms() < end_ms);
    ck_abort_msg("writes %llu, failures %llu, error %d", (unsigned long long)status.writes,
                 (unsigned long long)status.failures, status.error);
}

/* Told once, tried again, told once that it works; the last put is what stands there then. */
START_TEST(directory_that_is_none)
{
    struct glbp_state_store *store;

    ck_assert_int_eq(rmdir(dir), 0);
    close(open(dir, O_CREAT | O_WRONLY, 0600));
    catch_log();
    store = open_at(WALL_MS);
    await_status(store, 0, 1, ENOTDIR);
    put(store, 10, 7, 3);
    unlink(dir);
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    await_status(store, 1, 1, 0);
    ck_assert_uint_eq(said("cannot be written: Not a directory"), 1);
    ck_assert_uint_eq(said("is written again"), 1);
    glbp_state_stop(store);
    store = open_at(WALL_MS);
    ck_assert_uint_eq(glbp_state_term(store, 10), 7);
    glbp_state_stop(store);
}
END_TEST

/* Whatever the write fails with, what stood there before stands there after. */
static void check_full(int error)
{
    struct glbp_state_store *store;
    struct glbp_state_status status;

    catch_log();
    store = open_at(WALL_MS + 10);
    await_status(store, 0, 1, error);
    put(store, 10, 9, 9);
    glbp_state_status(store, &status);
    ck_assert_uint_eq(status.writes, 0);
    glbp_state_stop(store);
    ck_assert_uint_eq(said("cannot be written"), 1);
    ck_assert_int_ne(access(temp_path, F_OK), 0);
}

static void check_old_file(void)
{
    struct glbp_state_store *store = open_at(WALL_MS);

    ck_assert_uint_eq(glbp_state_incarnation(store), WALL_MS + 1);
    ck_assert_uint_eq(glbp_state_term(store, 10), 7);
    ck_assert_uint_eq(kept_version(store, 10), 3);
    glbp_state_stop(store);
}

static void keep_old_file(void)
{
    struct glbp_state_store *store = open_at(WALL_MS);

    put(store, 10, 7, 3);
    glbp_state_stop(store);
}

/* A real full disk, and a read-only one: in a mount namespace of this process. */
START_TEST(full_and_read_only_disk)
{
    char filler[128];
    char block[4096] = {1};
    int fd;

    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", dir, "tmpfs", 0, "size=32k,mode=700") != 0) {
        printf("full_and_read_only_disk: skipped: no mounts here: %s\n", strerror(errno));
        return;
    }
    keep_old_file();
    snprintf(filler, sizeof filler, "%s/filler", dir);
    fd = open(filler, O_WRONLY | O_CREAT, 0600);
    while (write(fd, block, sizeof block) > 0)
        ;
    close(fd);
    check_full(ENOSPC);
    unlink(filler);
    ck_assert_int_eq(mount("none", dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    check_full(EROFS);
    ck_assert_int_eq(mount("none", dir, NULL, MS_REMOUNT, NULL), 0);
    check_old_file();
    ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

/* A disk that never answers (a FIFO without a reader stands for it) delays neither a put, nor a
 * look at the status, nor, for more than a second, the end. */
START_TEST(r33_hung_disk)
{
    struct glbp_state_store *store;
    struct glbp_state_status status;
    uint64_t begun_ms;

    keep_old_file();
    ck_assert_int_eq(mkfifo(temp_path, 0600), 0);
    catch_log();
    begun_ms = glbp_clock_mono_ms();
    store = open_at(WALL_MS + 10);
    usleep(100000);
    for (uint64_t version = 1; version <= 100; version++)
        put(store, 10, 9, version);
    glbp_state_status(store, &status);
    ck_assert_uint_eq(status.writes, 0);
    glbp_state_stop(store);
    ck_assert_uint_lt(glbp_clock_mono_ms() - begun_ms, 3000);
    ck_assert_uint_eq(said("the disk does not answer"), 1);
}
END_TEST

/* A thousand puts are a few writes, and the newest stands there; equal ones are none. */
START_TEST(newest_wins)
{
    struct glbp_state_store *store = open_at(WALL_MS);
    struct glbp_state_status status;
    struct glbp_state_status later;

    for (uint64_t version = 1; version <= 1000; version++)
        put(store, 10, 7, version);
    await_status(store, 2, 0, 0);
    usleep(300000);
    glbp_state_status(store, &status);
    ck_assert_uint_le(status.writes, 20);
    for (int i = 0; i < 100; i++)
        put(store, 10, 7, 1000);
    usleep(300000);
    glbp_state_status(store, &later);
    ck_assert_uint_eq(later.writes, status.writes);
    glbp_state_stop(store);
    store = open_at(WALL_MS);
    ck_assert_uint_eq(kept_version(store, 10), 1000);
    glbp_state_stop(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("state");
    TCase *tcase = tcase_create("state");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, make_dir, remove_dir);
    tcase_add_test(tcase, first_start);
    tcase_add_test(tcase, next_life);
    tcase_add_test(tcase, an_incarnation_is_kept_before_it_is_used);
    tcase_add_test(tcase, a_term_never_goes_back);
    tcase_add_test(tcase, no_directory_wanted);
    tcase_add_test(tcase, file_of_another_node);
    tcase_add_test(tcase, missing_directory_is_made);
    tcase_add_loop_test(tcase, damaged_file, 0, 8);
    tcase_add_test(tcase, directory_that_is_none);
    tcase_add_test(tcase, full_and_read_only_disk);
    tcase_add_test(tcase, r33_hung_disk);
    tcase_add_test(tcase, newest_wins);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, state_file_tests());
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
