#include "agent/control/ring.h"

#include <stdlib.h>
#include <string.h>

#define HEAD "{\"ok\":true,\"result\":{\"events\":["
#define TAIL "]}}"

const char *glbp_control_ring_add(struct glbp_control_ring *ring, const char *line)
{
    char *kept = strdup(line);

    if (kept == NULL)
        return NULL;
    free(ring->lines[ring->next]);
    ring->lines[ring->next] = kept;
    ring->next = (ring->next + 1) % GLBP_CONTROL_EVENTS;
    if (ring->count < GLBP_CONTROL_EVENTS)
        ring->count++;
    return kept;
}

char *glbp_control_ring_answer(const struct glbp_control_ring *ring, size_t last)
{
    size_t n = last < ring->count ? last : ring->count;
    size_t first = ring->next + GLBP_CONTROL_EVENTS - n;
    size_t size = sizeof HEAD + sizeof TAIL;
    char *text, *end;

    for (size_t i = 0; i < n; i++)
        size += strlen(ring->lines[(first + i) % GLBP_CONTROL_EVENTS]) + 1;
    text = malloc(size);
    if (text == NULL)
        return NULL;
    end = stpcpy(text, HEAD);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            *end++ = ',';
        end = stpcpy(end, ring->lines[(first + i) % GLBP_CONTROL_EVENTS]);
    }
    stpcpy(end, TAIL);
    return text;
}

void glbp_control_ring_fini(struct glbp_control_ring *ring)
{
    for (size_t i = 0; i < GLBP_CONTROL_EVENTS; i++)
        free(ring->lines[i]);
}
