#include "agent/check/worker.h"

#include "proto/err.h"

int glbp_worker_init(struct glbp_worker *worker, const struct glbp_checks_callbacks *callbacks)
{
    int rv = uv_loop_init(&worker->loop);

    if (rv != 0)
        return rv;
    worker->callbacks = *callbacks;
    rv = glbp_web_init(&worker->web, &worker->loop, &worker->names);
    if (rv != 0)
        goto err_loop;
    rv = glbp_jobs_new(&worker->loop, NULL, &worker->jobs);
    if (rv != 0)
        goto err_web;
    glbp_request_setup(&worker->web);
    glbp_names_init(&worker->names, worker->jobs);
    glbp_board_init(&worker->board, &worker->web, worker->jobs, &worker->callbacks);
    glbp_prober_init(&worker->prober, &worker->web, callbacks->on_probe, callbacks->ctx);
    glbp_peers_init(&worker->peers, &worker->loop, &worker->names, &worker->callbacks);
    return 0;

err_web:
    glbp_web_fini(&worker->web);
    uv_run(&worker->loop, UV_RUN_DEFAULT);
err_loop:
    glbp_worker_fini(worker);
    return rv;
}

int glbp_worker_apply(struct glbp_worker *worker, struct glbp_plan *plan)
{
    int rv = glbp_peers_apply(&worker->peers, plan->names, plan->names_n);

    if (rv != 0)
        return rv;
    return glbp_board_apply(&worker->board, plan);
}

void glbp_worker_close(struct glbp_worker *worker)
{
    /* Whoever waits for an answer goes before whoever gives it. */
    glbp_peers_fini(&worker->peers);
    glbp_prober_fini(&worker->prober);
    glbp_board_fini(&worker->board);
    glbp_web_fini(&worker->web);
    glbp_jobs_close(worker->jobs);
    glbp_names_fini(&worker->names);
}

void glbp_worker_fini(struct glbp_worker *worker)
{
    int rv = uv_loop_close(&worker->loop);

    GLBP_ASSERT(rv == 0);
}
