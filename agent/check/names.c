#include "agent/check/names.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "agent/net/addr.h"
#include "proto/err.h"

struct glbp_names_entry {
    struct glbp_names_entry *next;
    struct glbp_names *names;
    struct glbp_lookup *waiting;
    char host[GLBP_NAME_SIZE];
};

struct lookup_job {
    struct glbp_job job;
    struct glbp_names_entry *entry; /* not touched by the thread */
    char host[GLBP_NAME_SIZE];
    int error;
    size_t n;
    struct glbp_addr addrs[GLBP_NAME_ADDRS_MAX];
};

void glbp_names_init(struct glbp_names *names, struct glbp_jobs *jobs)
{
    names->jobs = jobs;
    names->entries = NULL;
}

void glbp_names_fini(struct glbp_names *names)
{
    struct glbp_names_entry *entry;

    while ((entry = names->entries) != NULL) {
        names->entries = entry->next;
        free(entry);
    }
}

static void add_addr(struct lookup_job *lookup, const struct sockaddr *sa)
{
    struct glbp_addr addr;

    if (lookup->n == GLBP_NAME_ADDRS_MAX || !glbp_addr_from_sockaddr(sa, &addr))
        return;
    for (size_t i = 0; i < lookup->n; i++) {
        if (glbp_addr_cmp(&lookup->addrs[i], &addr) == 0)
            return;
    }
    lookup->addrs[lookup->n++] = addr;
}

static void work(struct glbp_job *job)
{
    struct lookup_job *lookup = (struct lookup_job *)job;
    /* One socket type, or each address comes three times. */
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;

    lookup->error = getaddrinfo(lookup->host, NULL, &hints, &found);
    if (lookup->error != 0)
        return;
    for (const struct addrinfo *ai = found; ai != NULL; ai = ai->ai_next)
        add_addr(lookup, ai->ai_addr);
    freeaddrinfo(found);
    if (lookup->n == 0)
        lookup->error = EAI_NODATA;
}

static void unlink_entry(struct glbp_names_entry *entry)
{
    struct glbp_names_entry **at = &entry->names->entries;

    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
}

static void done(struct glbp_job *job)
{
    struct lookup_job *lookup = (struct lookup_job *)job;
    struct glbp_names_entry *entry = lookup->entry;
    struct glbp_lookup *waiter;

    /* A waiter that asks again from its callback starts a look-up of its own. */
    unlink_entry(entry);
    while ((waiter = entry->waiting) != NULL) {
        entry->waiting = waiter->next;
        waiter->entry = NULL;
        waiter->on_done(waiter, lookup->error, lookup->addrs, lookup->n);
    }
    free(entry);
    free(lookup);
}

static struct glbp_names_entry *find(struct glbp_names *names, const char *host)
{
    for (struct glbp_names_entry *entry = names->entries; entry != NULL; entry = entry->next) {
        if (strcmp(entry->host, host) == 0)
            return entry;
    }
    return NULL;
}

static int begin(struct glbp_names *names, const char *host, struct glbp_names_entry **ret)
{
    struct glbp_names_entry *entry = calloc(1, sizeof *entry);
    struct lookup_job *lookup = calloc(1, sizeof *lookup);
    int rv = UV_ENOMEM;

    if (entry == NULL || lookup == NULL)
        goto err;
    memcpy(entry->host, host, strlen(host) + 1);
    memcpy(lookup->host, host, strlen(host) + 1);
    lookup->job.work = work;
    lookup->job.done = done;
    lookup->entry = entry;
    rv = glbp_jobs_run(names->jobs, &lookup->job);
    if (rv != 0)
        goto err;
    entry->names = names;
    entry->next = names->entries;
    names->entries = entry;
    *ret = entry;
    return 0;

err:
    free(lookup);
    free(entry);
    return rv;
}

int glbp_names_lookup(struct glbp_names *names, const char *host, struct glbp_lookup *lookup,
                      glbp_lookup_cb on_done)
{
    struct glbp_names_entry *entry = find(names, host);
    int rv;

    GLBP_ASSERT(lookup->entry == NULL);
    if (strlen(host) >= GLBP_NAME_SIZE)
        return UV_ENAMETOOLONG;
    /* Waiters that gave up leave the entry behind, so that a name that hangs is not asked again. */
    if (entry == NULL) {
        rv = begin(names, host, &entry);
        if (rv != 0)
            return rv;
    }
    lookup->entry = entry;
    lookup->on_done = on_done;
    lookup->next = entry->waiting;
    entry->waiting = lookup;
    return 0;
}

void glbp_lookup_cancel(struct glbp_lookup *lookup)
{
    struct glbp_lookup **at;

    if (lookup->entry == NULL)
        return;
    at = &lookup->entry->waiting;
    while (*at != lookup)
        at = &(*at)->next;
    *at = lookup->next;
    lookup->entry = NULL;
}
