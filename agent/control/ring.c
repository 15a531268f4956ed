#include "agent/control/ring.h"

#include <stdlib.h>
#include <string.h>

#include "agent/log_line.h"

#define HEAD "{\"ok\":true,\"result\":{\"events\":["
#define TAIL "]}}"

const char *glbp_control_ring_add(struct glbp_control_ring *ring, const struct glbp_event *event,
                                  const char *group, uint32_t group_id)
{
    char text[GLBP_LOG_LINE_SIZE];
    char *line;

    glbp_log_line_event(event, group, group_id, true, text);
    line = strdup(text);
    if (line == NULL)
        return NULL;
    free(ring->lines[ring->next]);
    ring->lines[ring->next] = line;
    ring->next = (ring->next + 1) % GLBP_CONTROL_EVENTS;
    if (ring->count < GLBP_CONTROL_EVENTS)
        ring->count++;
    return line;
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
