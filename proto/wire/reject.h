/* Why a datagram was refused (protocol.md section 3). Each reason has one counter, named as here in
 * /status and /metrics. A refused datagram changes nothing else. */
#ifndef GLBP_REJECT_H
#define GLBP_REJECT_H

#include "proto/err.h"

/* name of the constant, name of the counter, text for the log */
#define GLBP_REJECTS(X)                                                                            \
    X(GLBP_REJECT_LENGTH, "length", "shorter than a header or longer than 1232 bytes")             \
    X(GLBP_REJECT_MAGIC, "magic", "not a GLB1 datagram")                                           \
    X(GLBP_REJECT_UNSIGNED, "unsigned", "not signed, and this agent demands a signature")          \
    X(GLBP_REJECT_KEY_UNKNOWN, "key_unknown", "signed with a key that is not in the key chain")    \
    X(GLBP_REJECT_KEY_TIME, "key_time", "signed with a key outside its accept window")             \
    X(GLBP_REJECT_BAD_MAC, "bad_mac", "wrong signature: another key or another cluster label")     \
    X(GLBP_REJECT_TRUNCATED, "truncated", "ends in the middle of a value")                         \
    X(GLBP_REJECT_TRAILING, "trailing", "bytes behind the payload's map")                          \
    X(GLBP_REJECT_TYPE, "type", "a value of the wrong type")                                       \
    X(GLBP_REJECT_RANGE, "range", "a value out of its range")                                      \
    X(GLBP_REJECT_ORDER, "order", "a key out of order or twice")                                   \
    X(GLBP_REJECT_MISSING, "missing", "a required key is missing")                                 \
    X(GLBP_REJECT_NESTING, "nesting", "nested deeper than 4")                                      \
    X(GLBP_REJECT_COUNT, "count", "claims more elements than bytes remain")                        \
    X(GLBP_REJECT_OWN, "own", "this node's own datagram came back")                                \
    X(GLBP_REJECT_GROUP, "group", "a group that this agent does not serve")                        \
    X(GLBP_REJECT_SOURCE, "source", "unsigned, from an address that is no peer's")                 \
    X(GLBP_REJECT_DOWNGRADE, "downgrade", "unsigned, from a node that signs")                      \
    X(GLBP_REJECT_OLD_INCARNATION, "old_incarnation", "an earlier incarnation of its sender")      \
    X(GLBP_REJECT_FORGOTTEN, "forgotten", "not above the incarnations that were forgotten")        \
    X(GLBP_REJECT_DUPLICATE_NAME, "duplicate_name", "a living node has this name already")         \
    X(GLBP_REJECT_RESIGNED, "resigned", "its sender has resigned")                                 \
    X(GLBP_REJECT_REPLAY, "replay", "seen before, or too old")                                     \
    X(GLBP_REJECT_UNPROVEN, "unproven", "not yet proved to be no recording")                       \
    X(GLBP_REJECT_TERM, "term", "a term beyond what may be claimed")                               \
    X(GLBP_REJECT_URL, "url", "a url that url_allow does not allow")                               \
    X(GLBP_REJECT_TIMERS, "timers", "hold_ms below 3 x hello_ms")                                  \
    X(GLBP_REJECT_MEMBERS_FULL, "members_full", "one member more than max_members")                \
    X(GLBP_REJECT_TABLE_SIZE, "table_size",                                                        \
      "a table larger than max_members or max_forwarders here: raise them")

#define GLBP_REJECT_ENUM(name, counter, text) name,
enum glbp_reject { GLBP_ACCEPTED = 0, GLBP_REJECTS(GLBP_REJECT_ENUM) GLBP_REJECT_COUNT_ };
#undef GLBP_REJECT_ENUM

/* Counter name and log text of a reason; "?" for a number that is none. Static storage. */
const char *glbp_reject_name(enum glbp_reject reason);
const char *glbp_reject_text(enum glbp_reject reason);

#endif
