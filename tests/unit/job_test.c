/* A blocking call in a thread of its own: done on the loop, or dropped when nobody waits any more.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "agent/job.h"
#include "tests/unit/check_rig.h"

static uv_loop_t loop;
static uv_sem_t gate; /* work() waits here */
static uv_thread_t done_on;
static atomic_int worked, done, dropped;

static void work(struct glbp_job *job)
{
    (void)job;
    uv_sem_wait(&gate);
    atomic_fetch_add(&worked, 1);
}

static void on_done(struct glbp_job *job)
{
    done_on = uv_thread_self();
    atomic_fetch_add(&done, 1);
    glbp_jobs_close(job->jobs);
    free(job);
}

static void on_drop(struct glbp_job *job)
{
    free(job);
    atomic_fetch_add(&dropped, 1);
}

static struct glbp_jobs *begin(void)
{
    struct glbp_jobs *jobs;
    struct glbp_job *job = calloc(1, sizeof *job);

    ck_assert_ptr_nonnull(job);
    job->work = work;
    job->done = on_done;
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(uv_sem_init(&gate, 0), 0);
    ck_assert_int_eq(glbp_jobs_new(&loop, on_drop, &jobs), 0);
    ck_assert_int_eq(glbp_jobs_run(jobs, job), 0);
    return jobs;
}

START_TEST(a_job_is_done_on_the_loop)
{
    uv_thread_t self = uv_thread_self();

    begin();
    uv_sem_post(&gate);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    ck_assert_int_eq(atomic_load(&worked), 1);
    ck_assert_int_eq(atomic_load(&done), 1);
    ck_assert_int_eq(atomic_load(&dropped), 0);
    ck_assert(uv_thread_equal(&done_on, &self));
}
END_TEST

/* The loop ends while the call still hangs; what it has then is dropped, once it ends. */
START_TEST(a_job_that_hangs_holds_no_loop_up)
{
    glbp_jobs_close(begin());
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    ck_assert_int_eq(atomic_load(&worked), 0);
    uv_sem_post(&gate);
    for (int i = 0; i < 9000 && atomic_load(&dropped) == 0; i++)
        uv_sleep(1);
    ck_assert_int_eq(atomic_load(&worked), 1);
    ck_assert_int_eq(atomic_load(&dropped), 1);
    ck_assert_int_eq(atomic_load(&done), 0);
}
END_TEST

/* It ended, but the loop had no time to say so. */
START_TEST(a_job_that_waits_to_be_done_is_dropped)
{
    struct glbp_jobs *jobs = begin();

    uv_sem_post(&gate);
    for (int i = 0; i < 9000 && atomic_load(&worked) == 0; i++)
        uv_sleep(1);
    uv_sleep(50);
    glbp_jobs_close(jobs);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    for (int i = 0; i < 9000 && atomic_load(&dropped) == 0; i++)
        uv_sleep(1);
    ck_assert_int_eq(atomic_load(&dropped), 1);
    ck_assert_int_eq(atomic_load(&done), 0);
}
END_TEST

Suite *job_suite(void)
{
    Suite *suite = suite_create("job");
    TCase *tcase = tcase_create("job");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_job_is_done_on_the_loop);
    tcase_add_test(tcase, a_job_that_hangs_holds_no_loop_up);
    tcase_add_test(tcase, a_job_that_waits_to_be_done_is_dropped);
    suite_add_tcase(suite, tcase);
    return suite;
}
