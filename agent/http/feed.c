#include "agent/http/feed.h"

#include <stdlib.h>
#include <string.h>

static const char *const topic_names[] = {
    [GLBP_TOPIC_POOL] = "pool",           [GLBP_TOPIC_ELECTION] = "election",
    [GLBP_TOPIC_FORWARDER] = "forwarder", [GLBP_TOPIC_MEMBER] = "member",
    [GLBP_TOPIC_CHECK] = "check",
};

/* ---- items ---- */

/* Each line of the text is a data line: a reader that joins them by newlines has the same bytes.
 * NULL: no memory. */
static struct glbp_feed_item *item_new(enum glbp_topic topic, const char *text, size_t len)
{
    size_t lines = 1;
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    size_t cap = 32 + len + lines * sizeof "data: \n";
    struct glbp_feed_item *item = malloc(sizeof *item + cap);
    if (item == NULL)
        return NULL;
    atomic_init(&item->refs, 1);
    char *end = stpcpy(stpcpy(item->bytes, "event: "), topic_names[topic]);
    *end++ = '\n';
    for (const char *line = text; line <= text + len;) {
        size_t left = (size_t)(text + len - line);
        const char *stop = memchr(line, '\n', left);
        size_t n = stop != NULL ? (size_t)(stop - line) : left;
        end = stpcpy(end, n > 0 ? "data: " : "data:");
        memcpy(end, line, n);
        end += n;
        *end++ = '\n';
        line += n + 1;
    }
    *end++ = '\n';
    item->len = (size_t)(end - item->bytes);
    return item;
}

static struct glbp_feed_item *item_ref(struct glbp_feed_item *item)
{
    atomic_fetch_add_explicit(&item->refs, 1, memory_order_relaxed);
    return item;
}

void glbp_feed_item_unref(struct glbp_feed_item *item)
{
    if (item != NULL && atomic_fetch_sub_explicit(&item->refs, 1, memory_order_acq_rel) == 1)
        free(item);
}

/* ---- appending ---- */

int glbp_feed_init(struct glbp_feed *feed, size_t groups_n)
{
    memset(feed, 0, sizeof *feed);
    feed->groups = calloc(groups_n + 1, sizeof *feed->groups);
    if (feed->groups == NULL)
        return -1;
    feed->groups_n = groups_n;
    pthread_mutex_init(&feed->mutex, NULL);
    return 0;
}

void glbp_feed_fini(struct glbp_feed *feed)
{
    for (size_t i = 0; i < GLBP_FEED_KEPT; i++)
        glbp_feed_item_unref(feed->ring[i].item);
    for (size_t i = 0; i < feed->groups_n; i++)
        glbp_feed_item_unref(feed->groups[i].pool);
    free(feed->groups);
    pthread_mutex_destroy(&feed->mutex);
}

/* Under the lock. Takes `item` over; the oldest entry gives way. */
static void append(struct glbp_feed *feed, size_t group, enum glbp_topic topic,
                   struct glbp_feed_item *item)
{
    uint64_t number = glbp_feed_number(feed) + 1;
    struct glbp_feed_entry *entry = &feed->ring[number % GLBP_FEED_KEPT];
    glbp_feed_item_unref(entry->item);
    *entry = (struct glbp_feed_entry){.group = group, .topic = topic, .item = item};
    atomic_store(&feed->groups[group].last_number, number);
    if (topic == GLBP_TOPIC_POOL)
        atomic_store(&feed->groups[group].pool_number, number);
    atomic_store(&feed->number, number);
}

void glbp_feed_begin(struct glbp_feed *feed, uint64_t incarnation)
{
    pthread_mutex_lock(&feed->mutex);
    if (feed->incarnation == 0)
        feed->incarnation = incarnation;
    pthread_mutex_unlock(&feed->mutex);
}

void glbp_feed_pool(struct glbp_feed *feed, size_t group, const char *json, size_t len)
{
    struct glbp_feed_item *item = item_new(GLBP_TOPIC_POOL, json, len);
    struct glbp_feed_item *before = NULL;
    pthread_mutex_lock(&feed->mutex);
    if (item != NULL) {
        before = feed->groups[group].pool;
        feed->groups[group].pool = item;
    }
    append(feed, group, GLBP_TOPIC_POOL, NULL);
    pthread_mutex_unlock(&feed->mutex);
    glbp_feed_item_unref(before);
}

void glbp_feed_text(struct glbp_feed *feed, size_t group, enum glbp_topic topic, const char *line)
{
    struct glbp_feed_item *item = item_new(topic, line, strlen(line));
    if (item == NULL)
        return;
    pthread_mutex_lock(&feed->mutex);
    append(feed, group, topic, item);
    pthread_mutex_unlock(&feed->mutex);
}

enum glbp_topic glbp_feed_topic(enum glbp_event_kind kind)
{
    static const enum glbp_topic topics[GLBP_EVENT_KINDS] = {
        [GLBP_EV_STATE] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_AVG] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_PREEMPT] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_RESIGN] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_CLAIM_BEATEN] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_TERM_RAISED] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_INCARNATION] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_MINORITY] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_STALL] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_DUPLICATE] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_DUPLICATE_OVER] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_NOSOCKET] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_SOCKET] = GLBP_TOPIC_ELECTION,
        [GLBP_EV_FORWARDER] = GLBP_TOPIC_FORWARDER,
        [GLBP_EV_MEMBER_JOINED] = GLBP_TOPIC_MEMBER,
        [GLBP_EV_MEMBER_LOST] = GLBP_TOPIC_MEMBER,
        [GLBP_EV_MEMBER_BACK] = GLBP_TOPIC_MEMBER,
        [GLBP_EV_MEMBER_RESIGNED] = GLBP_TOPIC_MEMBER,
        [GLBP_EV_MEMBER_REMOVED] = GLBP_TOPIC_MEMBER,
        [GLBP_EV_ONEWAY] = GLBP_TOPIC_MEMBER,
        [GLBP_EV_SUSPECT] = GLBP_TOPIC_MEMBER,
        [GLBP_EV_URL_MISMATCH] = GLBP_TOPIC_MEMBER,
        [GLBP_EV_CONFIG_DIFFERS] = GLBP_TOPIC_MEMBER,
        [GLBP_EV_WEIGHT] = GLBP_TOPIC_CHECK,
        [GLBP_EV_DRAIN] = GLBP_TOPIC_CHECK,
    };
    return topics[kind];
}

/* ---- reading ---- */

uint64_t glbp_feed_number(const struct glbp_feed *feed)
{
    return atomic_load(&feed->number);
}

bool glbp_feed_is_news(const struct glbp_feed *feed, const struct glbp_watch *watch)
{
    if (watch->group == GLBP_WATCH_ALL)
        return glbp_feed_number(feed) > watch->seen;
    const struct glbp_feed_group *group = &feed->groups[watch->group];
    return atomic_load(watch->pools_only ? &group->pool_number : &group->last_number) > watch->seen;
}

/* Reads the decimal number at *text, which is set behind it. False: none, or it is too great. */
static bool read_number(const char **text, uint64_t *ret)
{
    uint64_t value = 0;
    const char *p = *text;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    bool any = p != *text;
    *text = p;
    *ret = value;
    return any;
}

/* Under the lock: may a reader that saw `number` go on from there? */
static bool is_kept(const struct glbp_feed *feed, uint64_t number)
{
    uint64_t last = glbp_feed_number(feed);
    return number <= last && last - number <= GLBP_FEED_KEPT;
}

static void begin_anew(struct glbp_feed *feed, struct glbp_feed_cursor *cursor)
{
    cursor->pools_ahead = feed->groups_n;
    cursor->watch.seen = glbp_feed_number(feed);
}

void glbp_feed_cursor_init(struct glbp_feed *feed, const struct glbp_watch *watch,
                           const char *last_id, struct glbp_feed_cursor *ret)
{
    uint64_t incarnation = 0;
    uint64_t number = 0;
    bool read = last_id != NULL && read_number(&last_id, &incarnation) && *last_id++ == '-' &&
                read_number(&last_id, &number) && *last_id == '\0';
    *ret = (struct glbp_feed_cursor){.watch = *watch};
    pthread_mutex_lock(&feed->mutex);
    if (read && incarnation == feed->incarnation && is_kept(feed, number))
        ret->watch.seen = number;
    else
        begin_anew(feed, ret);
    pthread_mutex_unlock(&feed->mutex);
}

/* One of the current pools that come first; NULL: they are done. One that is newer than what was
 * seen comes in its turn. */
static struct glbp_feed_item *next_current(struct glbp_feed *feed, struct glbp_feed_cursor *cursor)
{
    while (cursor->pools_ahead > 0) {
        size_t index = feed->groups_n - cursor->pools_ahead--;
        const struct glbp_feed_group *group = &feed->groups[index];
        if (group->pool != NULL && atomic_load(&group->pool_number) <= cursor->watch.seen &&
            (cursor->watch.group == GLBP_WATCH_ALL || cursor->watch.group == index))
            return group->pool;
    }
    return NULL;
}

/* The next entry behind `seen`; NULL: none. */
static struct glbp_feed_item *next_entry(struct glbp_feed *feed, struct glbp_watch *watch)
{
    for (uint64_t last = glbp_feed_number(feed); watch->seen < last;) {
        uint64_t number = ++watch->seen;
        const struct glbp_feed_entry *entry = &feed->ring[number % GLBP_FEED_KEPT];
        const struct glbp_feed_group *group = &feed->groups[entry->group];
        bool pool = entry->topic == GLBP_TOPIC_POOL;
        if ((watch->group != GLBP_WATCH_ALL && watch->group != entry->group) ||
            (watch->pools_only && !pool))
            continue;
        if (!pool)
            return entry->item;
        if (group->pool != NULL && atomic_load(&group->pool_number) == number)
            return group->pool;
    }
    return NULL;
}

bool glbp_feed_next(struct glbp_feed *feed, struct glbp_feed_cursor *cursor,
                    struct glbp_feed_item **ret, uint64_t *ret_number)
{
    struct glbp_feed_item *item = NULL;
    pthread_mutex_lock(&feed->mutex);
    if (feed->incarnation == 0 || !is_kept(feed, cursor->watch.seen))
        begin_anew(feed, cursor);
    if (feed->incarnation != 0)
        item = next_current(feed, cursor);
    if (item == NULL)
        item = next_entry(feed, &cursor->watch);
    if (item != NULL) {
        *ret = item_ref(item);
        *ret_number = cursor->watch.seen;
    }
    pthread_mutex_unlock(&feed->mutex);
    return item != NULL;
}
