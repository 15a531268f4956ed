#include "tests/sim/heap.h"

#include "tests/sim/mem.h"

#define ARITY 4 /* shallower than binary: fewer cache lines a pop */

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms;
    return a->order < b->order;
}

void sim_heap_push(struct sim_heap *heap, struct sim_event event)
{
    size_t i = heap->n++;

    if (heap->n > heap->cap) {
        heap->cap = heap->cap ? 2 * heap->cap : 256;
        heap->events = sim_realloc(heap->events, heap->cap * sizeof heap->events[0]);
    }
    event.order = ((uint64_t)event.kind << 56) | ++heap->pushed;
    while (i > 0) {
        size_t parent = (i - 1) / ARITY;

        if (!before(&event, &heap->events[parent]))
            break;
        heap->events[i] = heap->events[parent];
        i = parent;
    }
    heap->events[i] = event;
}

static size_t least_child(const struct sim_heap *heap, size_t parent)
{
    size_t first = parent * ARITY + 1, least = first;

    for (size_t i = first + 1; i < first + ARITY && i < heap->n; i++) {
        if (before(&heap->events[i], &heap->events[least]))
            least = i;
    }
    return least;
}

bool sim_heap_pop(struct sim_heap *heap, uint64_t until_ms, struct sim_event *ret)
{
    const struct sim_event *last;
    size_t i = 0;

    if (heap->n == 0 || heap->events[0].at_ms > until_ms)
        return false;
    *ret = heap->events[0];
    last = &heap->events[--heap->n];
    while (i * ARITY + 1 < heap->n) {
        size_t child = least_child(heap, i);

        if (!before(&heap->events[child], last))
            break;
        heap->events[i] = heap->events[child];
        i = child;
    }
    heap->events[i] = *last;
    return true;
}

void sim_heap_fini(struct sim_heap *heap)
{
    sim_free(heap->events);
    *heap = (struct sim_heap){0};
}
