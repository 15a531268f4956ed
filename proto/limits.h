/* Bounds of the protocol (protocol.md sections 1 to 3). Everything that the core stores is sized by
 * these and by a group's `max_members` and `max_forwarders`; nothing grows later. */
#ifndef GLBP_LIMITS_H
#define GLBP_LIMITS_H

#include <stdint.h>

#define GLBP_NODE_MAX       63  /* bytes of a node name */
#define GLBP_GROUP_NAME_MAX 63  /* bytes of a group name */
#define GLBP_URL_MAX        255 /* bytes of a url */
#define GLBP_CLUSTER_MAX    63  /* bytes of the cluster label */

#define GLBP_NODE_SIZE       (GLBP_NODE_MAX + 1) /* with the terminating NUL, likewise below */
#define GLBP_GROUP_NAME_SIZE (GLBP_GROUP_NAME_MAX + 1)
#define GLBP_URL_SIZE        (GLBP_URL_MAX + 1)
#define GLBP_CLUSTER_SIZE    (GLBP_CLUSTER_MAX + 1)

#define GLBP_GROUP_ID_MAX 1023
#define GLBP_GROUPS_MAX   64   /* groups of one agent */
#define GLBP_MEMBERS_MAX  1024 /* members of one group */
#define GLBP_SLOTS_MAX    1024 /* forwarder slots of one group */

#define GLBP_DATAGRAM_MAX 1232 /* bytes: IPv6's least MTU less the IPv6 and UDP headers */
#define GLBP_HEADER_LEN   40
#define GLBP_PAYLOAD_MAX  (GLBP_DATAGRAM_MAX - GLBP_HEADER_LEN)

#define GLBP_UINT53_MAX ((UINT64_C(1) << 53) - 1)
#define GLBP_TERM_MAX   ((UINT64_C(1) << 53) - (UINT64_C(1) << 40) - 1)

#define GLBP_HELLO_MS_MIN  50
#define GLBP_HELLO_MS_MAX  60000
#define GLBP_HOLD_MS_MAX   600000
#define GLBP_WEIGHT_MAX    65535
#define GLBP_URL_RULES_MAX 32

#define GLBP_NEVER_MS UINT64_MAX

#endif
