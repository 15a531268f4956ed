/* Every key of gateway.json, in the order in which people read them: an object's own row stands
 * before those of its members. `fallback` 0 with text in `shown` is a default that a rule makes. */
#include "agent/config/keys.h"

#include "agent/config/draft.h"

static const char *const log_levels[] = {"error", "warning", "notice", "info", "debug", NULL};
static const char *const log_formats[] = {"text", "json", NULL};
static const char *const auth_modes[] = {"enforce", "permissive", "receive-only", NULL};
static const char *const methods[] = {"HEAD", "GET", "OPTIONS", NULL};
static const char *const balancings[] = {"weighted", "round-robin", "host-dependent", "none", NULL};

#define FIELD(in, type, member)                                                                    \
    .place = (in), .offset = offsetof(struct type, member),                                        \
    .size = sizeof(((struct type *)NULL)->member)
#define DRAFT(member)   FIELD(GLBP_PLACE_DRAFT, glbp_draft, member)
#define CONFIG(member)  FIELD(GLBP_PLACE_CONFIG, glbp_config, member)
#define KEY(member)     FIELD(GLBP_PLACE_KEY, glbp_key_draft, member)
#define GROUP(member)   FIELD(GLBP_PLACE_GROUP, glbp_group_draft, member)
#define CORE(member)    GROUP(section.core.member)
#define CHECK(member)   FIELD(GLBP_PLACE_CHECK, glbp_check_draft, member)
#define GATEWAY(member) FIELD(GLBP_PLACE_GATEWAY, glbp_gateway_draft, member)

#define OBJECT(in) .kind = GLBP_KIND_OBJECT, .place = (in)
#define OBJECTS(in, type, member, of_, element)                                                    \
    .kind = GLBP_KIND_OBJECTS, .place = (in), .offset = offsetof(struct type, member),             \
    .size = sizeof(struct element), .of = (of_)
#define UINT(min_, max_, fallback_)                                                                \
    .kind = GLBP_KIND_UINT, .min = (min_), .max = (max_), .fallback = (fallback_)
#define BOOL(fallback_) .kind = GLBP_KIND_BOOL, .fallback = (fallback_)
#define ENUM(names_, base, number)                                                                 \
    .kind = GLBP_KIND_ENUM, .names = (names_), .min = (base), .fallback = (number)
#define TEXT(min_, max_) .kind = GLBP_KIND_TEXT, .min = (min_), .max = (max_)
#define PATH(min_, max_) .kind = GLBP_KIND_PATH, .min = (min_), .max = (max_)
#define TEXTS(max_)      .kind = GLBP_KIND_TEXTS, .max = (max_)

#define ENDPOINT_MAX 300
#define PATH_MAX_    4095
#define SOCKET_MAX   107 /* sun_path */
#define HOUR_MS      3600000
#define SHOWN(text)  .shown = (text)

/* clang-format off: a row is what it is about, and then what it says. */
const struct glbp_key_row glbp_keys[] = {
    {"node", TEXT(1, GLBP_NODE_MAX), DRAFT(node), SHOWN("host name in lower case"),
     .help = "name of this node: 1 to 63 of a-z 0-9 . _ -, another one on every host"},
    {"cluster", TEXT(0, GLBP_CLUSTER_MAX), DRAFT(cluster), SHOWN("empty"),
     .help = "label that goes into every MAC: keeps clusters apart that share a key by mistake"},
    {"state_dir", PATH(0, PATH_MAX_), CONFIG(state_dir), SHOWN("/var/lib/glbpd"),
     .help = "directory of the state file; \"\": none is kept"},
    {"control", PATH(0, SOCKET_MAX), CONFIG(control), SHOWN("/run/glbpd/control.sock"),
     .help = "Unix socket for glbpctl; \"\": none"},

    {"log", OBJECT(GLBP_PLACE_CONFIG), .help = "the log, on stderr"},
    {"log.level", ENUM(log_levels, 3, 6), CONFIG(log_level),
     .help = "the least severe line printed"},
    {"log.format", ENUM(log_formats, 0, 0), CONFIG(log_json),
     .help = "text, or one JSON object a line"},

    {"transport", OBJECT(GLBP_PLACE_DRAFT), .help = "datagrams between agents"},
    {"transport.listen", TEXT(1, ENDPOINT_MAX), DRAFT(listen), SHOWN("0.0.0.0:3222"),
     .help = "UDP address and port; [::]:3222 for IPv6, which is the default when peers are IPv6"},
    {"transport.advertise", TEXT(1, ENDPOINT_MAX), DRAFT(advertise), SHOWN("own address"),
     .help = "address, and port, at which the others reach this node"},
    {"transport.multicast", OBJECT(GLBP_PLACE_CONFIG), SHOWN("on when peers is absent"),
     .help = "multicast; on when it is given, or neither it nor peers is"},
    {"transport.multicast.group", TEXT(1, ENDPOINT_MAX), DRAFT(multicast_group),
     SHOWN("239.255.32.22, or ff02::3222"), .help = "multicast address"},
    {"transport.multicast.interface", TEXT(1, 15), CONFIG(transport.multicast_interface),
     SHOWN("that of the own address"), .help = "interface to join and send on"},
    {"transport.multicast.ttl", UINT(1, 255, 1), CONFIG(transport.multicast_ttl),
     .help = "hops that a multicast datagram may go"},
    {"transport.peers", TEXTS(GLBP_MEMBERS_MAX), DRAFT(peers), SHOWN("none"),
     .help =
         "agents to send to: host, host:port or [IPv6%interface]:port; a name may resolve to many; "
         "without a port it is that of transport.listen"},

    {"auth", OBJECT(GLBP_PLACE_CONFIG), .help = "who is believed"},
    {"auth.mode", ENUM(auth_modes, 0, 0), CONFIG(auth.mode),
     .help =
         "enforce: signed datagrams only; permissive: unsigned too; receive-only: sends unsigned, "
         "checks what is signed"},
    {"auth.keys", OBJECTS(GLBP_PLACE_DRAFT, glbp_draft, keys, GLBP_PLACE_KEY, glbp_key_draft),
     .max = GLBP_KEYS_MAX, SHOWN("none"),
     .help = "key chain; without keys everything is unsigned, and a warning says so"},
    {"auth.keys[].id", UINT(1, UINT32_MAX, 0), KEY(id), SHOWN("required"),
     .help = "number of the key, the same on every node"},
    {"auth.keys[].file", PATH(1, PATH_MAX_), KEY(file), SHOWN("required"),
     .help = "64 hex digits (openssl rand -hex 32), mode 0600 or 0400"},
    {"auth.keys[].accept_from", .kind = GLBP_KIND_TIME, KEY(accept_from_ms), SHOWN("always"),
     .help = "UTC time, 2026-12-31T00:00:00Z, from which datagrams with this key are believed"},
    {"auth.keys[].accept_until", .kind = GLBP_KIND_TIME, KEY(accept_until_ms), SHOWN("for ever"),
     .help = "time from which they are not"},
    {"auth.keys[].send_from", .kind = GLBP_KIND_TIME, KEY(send_from_ms), SHOWN("accept_from"),
     .help = "time from which this node signs with it"},
    {"auth.keys[].send_until", .kind = GLBP_KIND_TIME, KEY(send_until_ms), SHOWN("accept_until"),
     .help = "time from which it does not"},

    {"url_allow", TEXTS(GLBP_URL_RULES_MAX), DRAFT(url_allow), SHOWN("any http or https url"),
     .help =
         "urls that may enter a pool: scheme://host:port, * for any run of characters of a host or "
         "any port, no port for the scheme's own"},

    {"http", OBJECT(GLBP_PLACE_CONFIG), .help = "GET /pool and its family"},
    {"http.listen", TEXT(0, ENDPOINT_MAX), DRAFT(http_listen), SHOWN("0.0.0.0:8080"),
     .help = "public address; \"\": none"},
    {"http.admin_listen", TEXT(0, ENDPOINT_MAX), DRAFT(admin_listen), SHOWN("127.0.0.1:8081"),
     .help = "address of /status and /metrics; \"\": none"},
    {"http.admin_on_public", BOOL(0), CONFIG(http.admin_on_public),
     .help = "serve those on http.listen, too"},
    {"http.url", .kind = GLBP_KIND_URL, CONFIG(http.url), SHOWN("none"),
     .help = "url at which browsers reach this agent: told to them as another place for the pool"},
    {"http.hosts", TEXTS(64), DRAFT(hosts), SHOWN("any"),
     .help = "Host headers that are answered, any other gets 421"},
    {"http.threads", UINT(0, 64, 0), CONFIG(http.threads), SHOWN("one a core, at most 4"),
     .help = "threads that serve"},
    {"http.cors", TEXTS(64), DRAFT(cors), SHOWN("any"),
     .help = "origins that may read the pool: https://shop.example.com"},
    {"http.tls", .kind = GLBP_KIND_LATER, .help = "TLS: let the BFF's web server pass /pool on"},
    {"http.haproxy_agent", .kind = GLBP_KIND_LATER, .help = "HAProxy agent-check"},
    {"http.limits", OBJECT(GLBP_PLACE_CONFIG), .help = "what strangers may use up"},
    {"http.limits.connections", UINT(1, 1000000, 10000), CONFIG(http.limits.connections),
     .help = "connections"},
    {"http.limits.per_address", UINT(1, 1000000, 1000), CONFIG(http.limits.per_address),
     .help = "connections of one client address"},
    {"http.limits.streams", UINT(0, 1000000, 5000), CONFIG(http.limits.streams),
     .help = "event streams open at once: GET /events"},
    {"http.limits.polls", UINT(0, 1000000, 5000), CONFIG(http.limits.polls),
     .help = "long polls waiting at once: GET /pool?wait=30s"},
    {"http.limits.header_ms", UINT(100, HOUR_MS, 5000), CONFIG(http.limits.header_ms),
     .help = "time for a request's header to arrive"},
    {"http.limits.send_ms", UINT(100, HOUR_MS, 10000), CONFIG(http.limits.send_ms),
     .help = "time for an answer to be taken"},
    {"http.limits.idle_ms", UINT(100, HOUR_MS, 30000), CONFIG(http.limits.idle_ms),
     .help = "time between two requests of a connection"},
    {"http.limits.header_bytes", UINT(1024, 65536, 4096), CONFIG(http.limits.header_bytes),
     .help = "size of a request's header"},

    {"groups", OBJECTS(GLBP_PLACE_DRAFT, glbp_draft, groups, GLBP_PLACE_GROUP, glbp_group_draft),
     .min = 1, .max = GLBP_GROUPS_MAX, SHOWN("one, named default"),
     .help = "BFF services that this host serves"},
    {"groups[].name", TEXT(1, GLBP_GROUP_NAME_MAX), GROUP(name), SHOWN("default"),
     .help = "name, 1 to 63 of a-z 0-9 . _ -, not a number: GET /pool/NAME"},
    {"groups[].id", UINT(0, GLBP_GROUP_ID_MAX, 0), CORE(id),
     .help = "number, the same on every node of the group"},
    {"groups[].url", .kind = GLBP_KIND_URL, GROUP(url), SHOWN("http://OWN-ADDRESS:3000"),
     .help = "url of this host's BFF as browsers reach it"},
    {"groups[].priority", UINT(1, 255, 100), CORE(priority),
     .help = "who becomes AVG in an election: the greatest"},
    {"groups[].preempt", OBJECT(GLBP_PLACE_GROUP),
     .help = "taking the AVG role from a lower priority"},
    {"groups[].preempt.enabled", BOOL(0), CORE(preempt), .help = "do it"},
    {"groups[].preempt.delay_ms", UINT(0, HOUR_MS, 0), CORE(preempt_delay_ms),
     .help = "not sooner after this node is ready"},
    {"groups[].timers", OBJECT(GLBP_PLACE_GROUP), .help = "set them the same on every node"},
    {"groups[].timers.hello_ms", UINT(GLBP_HELLO_MS_MIN, GLBP_HELLO_MS_MAX, 1000), CORE(hello_ms),
     .help = "time between two hellos"},
    {"groups[].timers.hold_ms", UINT(GLBP_HELLO_MS_MIN, GLBP_HOLD_MS_MAX, 3500), CORE(hold_ms),
     .help = "silence after which a node is lost; at least 3 x hello_ms"},
    {"groups[].timers.redirect_ms", UINT(0, HOUR_MS, 60000), CORE(redirect_ms),
     .help = "a lost node's slot is handed out for so long; 0: until timeout_ms"},
    {"groups[].timers.timeout_ms", UINT(1, 64800000, 600000), CORE(timeout_ms),
     .help = "then it is removed; at least redirect_ms"},
    {"groups[].timers.witness_timeout_ms", UINT(10, 60000, 500), GROUP(section.witness_timeout_ms),
     .help = "time for a silent node's url to answer"},
    {"groups[].weighting", OBJECT(GLBP_PLACE_GROUP), .help = "share of the traffic"},
    {"groups[].weighting.max", UINT(1, GLBP_WEIGHT_MAX, 100), CORE(weight_max),
     .help = "weight while every check is up"},
    {"groups[].weighting.lower", UINT(1, GLBP_WEIGHT_MAX, 1), CORE(weight_lower),
     .help = "below it this host serves nothing"},
    {"groups[].weighting.upper", UINT(1, GLBP_WEIGHT_MAX, 0), CORE(weight_upper), SHOWN("max"),
     .help = "at it, it does again"},
    {"groups[].weighting.latency_target_ms", UINT(0, 60000, 0), GROUP(latency_target_ms),
     .help = "a BFF slower than this weighs less; 0: off"},
    {"groups[].max_forwarders", UINT(1, GLBP_SLOTS_MAX, 16), CORE(max_forwarders),
     .help = "slots; more nodes than that are spares"},
    {"groups[].max_members", UINT(2, GLBP_MEMBERS_MAX, 64), CORE(max_members),
     .help = "nodes; memory for them is taken at start"},
    {"groups[].forwarder_preempt_delay_ms", UINT(0, HOUR_MS, 30000),
     CORE(forwarder_preempt_delay_ms), .help = "an owner that is back waits so long for its slot"},
    {"groups[].load_balancing", ENUM(balancings, 0, 0), CORE(load_balancing),
     .help = "how GET /next chooses"},
    {"groups[].refresh_ms", UINT(100, HOUR_MS, 5000), CORE(refresh_ms),
     .help = "how often frontends fetch the pool"},

    {"groups[].checks",
     OBJECTS(GLBP_PLACE_GROUP, glbp_group_draft, checks, GLBP_PLACE_CHECK, glbp_check_draft),
     .max = 64, SHOWN("one: HEAD URL/health"), .help = "what takes weight from this host"},
    {"groups[].checks[].name", TEXT(1, 63), CHECK(check.name), SHOWN("check1, check2, ..."),
     .help = "name, unique in the group: keeps its state over a reload"},
    {"groups[].checks[].url", TEXT(1, 2000), CHECK(url), SHOWN("one of url and file is required"),
     .help = "http:// or https:// url, or tcp://host:port"},
    {"groups[].checks[].file", PATH(1, PATH_MAX_), CHECK(file), SHOWN("none"),
     .help = "down while this file is there"},
    {"groups[].checks[].exec", .kind = GLBP_KIND_LATER, .help = "a command"},
    {"groups[].checks[].drain", BOOL(0), CHECK(check.drain),
     .help = "file only: drain this node while it is there, instead of a decrement"},
    {"groups[].checks[].decrement", UINT(1, GLBP_WEIGHT_MAX, 0), CHECK(check.decrement),
     SHOWN("weighting.max"), .help = "weight that it takes while it is down"},
    {"groups[].checks[].interval_ms", UINT(100, HOUR_MS, 1000), CHECK(check.interval_ms),
     .help = "time between two runs"},
    {"groups[].checks[].fast_interval_ms", UINT(25, HOUR_MS, 0), CHECK(check.fast_interval_ms),
     SHOWN("interval_ms / 4"), .help = "the same while the result is changing, and at start"},
    {"groups[].checks[].timeout_ms", UINT(1, 60000, 0), CHECK(check.timeout_ms),
     SHOWN("2 x interval_ms"), .help = "no result in this time is a failure"},
    {"groups[].checks[].rise", UINT(1, 100, 2), CHECK(check.rise),
     .help = "successes in a row that make it up"},
    {"groups[].checks[].fall", UINT(1, 100, 2), CHECK(check.fall),
     .help = "failures in a row that make it down"},
    {"groups[].checks[].method", ENUM(methods, 0, 0), CHECK(check.method),
     .help = "http only; HEAD falls back to GET on 405 and 501"},
    {"groups[].checks[].expect", .kind = GLBP_KIND_UINTS, .min = 100, .max = 599, CHECK(expect),
     SHOWN("[200]"), .help = "http only: statuses that are a success"},
    {"groups[].checks[].body", .kind = GLBP_KIND_MATCH, .min = 1, .max = 65536, CHECK(check.body),
     SHOWN("any"), .help = "http only: text that the body must hold; makes GET the default method"},
    {"groups[].checks[].headers", TEXTS(32), CHECK(headers), SHOWN("none"),
     .help = "http only: \"Name: value\" lines to send"},
    {"groups[].checks[].unix", PATH(1, SOCKET_MAX), CHECK(check.unix_path), SHOWN("none"),
     .help = "http only: Unix socket to connect to"},
    {"groups[].checks[].ca", PATH(1, PATH_MAX_), CHECK(check.ca), SHOWN("the system's"),
     .help = "https only: file of certificates to trust"},
    {"groups[].checks[].verify", BOOL(1), CHECK(check.verify),
     .help = "https only: check the certificate"},

    {"frontend", OBJECT(GLBP_PLACE_DRAFT),
     .help = "read by the Vite plugin of glbp-client; only checked here"},
    {"frontend.agents", .kind = GLBP_KIND_URLS, .max = GLBP_MEMBERS_MAX, DRAFT(frontend_agents),
     SHOWN("none"), .help = "urls of pools"},
    {"frontend.gateways",
     OBJECTS(GLBP_PLACE_DRAFT, glbp_draft, frontend_gateways, GLBP_PLACE_GATEWAY,
             glbp_gateway_draft),
     .max = GLBP_SLOTS_MAX, SHOWN("none"), .help = "BFFs to try while no agent answers"},
    {"frontend.gateways[].url", .kind = GLBP_KIND_URL, GATEWAY(url), SHOWN("required"),
     .help = "url of the BFF"},
    {"frontend.gateways[].weight", UINT(0, GLBP_WEIGHT_MAX, 100), GATEWAY(weight), .help = "share"},
};
/* clang-format on */

const size_t glbp_keys_n = sizeof glbp_keys / sizeof *glbp_keys;
