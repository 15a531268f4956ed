/* Section 5: the states and who moves between them; drain, resign. */
#include <stdio.h>
#include <string.h>

#include "proto/group/election.h"
#include "rig.h"

static struct rig rig;

static void open_rig(void)
{
    rig_start(&rig);
}

static void close_rig(void)
{
    rig_close(&rig);
}

START_TEST(s5_alone_listens_speaks_and_leads)
{
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    wait_ms(&rig, HELLO);
    ck_assert_int_eq(state_of(&rig), GLBP_SPEAK);
    wait_ms(&rig, HELLO);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    wait_ms(&rig, 10);
    ck_assert_uint_ge(rig.hello.follows.term, WALL);
}
END_TEST

START_TEST(s5_no_socket_is_initial_and_never_avg)
{
    wait_ms(&rig, 3 * HELLO);
    set_link(&rig, GLBP_LINK_DOWN);
    ck_assert_int_eq(state_of(&rig), GLBP_INITIAL);
    rig_clear(&rig);
    wait_ms(&rig, 10 * HELLO);
    ck_assert_int_eq(state_of(&rig), GLBP_INITIAL);
    ck_assert_uint_eq(rig.hellos, 0);
    set_link(&rig, GLBP_LINK_UP);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s2_cut_off_is_not_eligible)
{
    wait_ms(&rig, 3 * HELLO);
    set_link(&rig, GLBP_LINK_CUT_OFF);
    ck_assert(!status_of(&rig).eligible);
    set_link(&rig, GLBP_LINK_UP);
    ck_assert(status_of(&rig).eligible);
}
END_TEST

START_TEST(s5_listen_waits_for_its_window)
{
    wait_ms(&rig, HELLO - 1);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    wait_ms(&rig, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_SPEAK);
}
END_TEST

START_TEST(s5_listen_stays_below_a_higher_candidate)
{
    struct peer a = peer_of("a", 1);
    a.msg.priority = 200;
    a.msg.state = GLBP_SPEAK;
    wait_with(&rig, 3 * HELLO, &(struct peer *){&a}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s5_speak_yields_to_a_higher_candidate)
{
    wait_ms(&rig, HELLO);
    struct peer a = peer_of("a", 30); /* equal priority, greater address */
    a.msg.state = GLBP_SPEAK;
    (void)say(&rig, &a);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    ck_assert_str_eq(rig.last[GLBP_EV_STATE].node, "a");
}
END_TEST

START_TEST(s5_speak_does_not_yield_to_a_lower_candidate)
{
    wait_ms(&rig, HELLO);
    struct peer a = peer_of("a", 10);
    a.msg.state = GLBP_SPEAK;
    (void)say(&rig, &a);
    ck_assert_int_eq(state_of(&rig), GLBP_SPEAK);
}
END_TEST

START_TEST(s1_rank_draining_then_priority_then_address_then_name)
{
    struct glbp_member a = {.priority = 100};
    struct glbp_member b = {.priority = 100};
    a.addr.ip[15] = 9;
    b.addr.ip[15] = 10;
    (void)strcpy(a.node, "b");
    (void)strcpy(b.node, "a");
    ck_assert_int_lt(glbp_rank_cmp(&a, &b), 0);
    b.addr.ip[15] = 9;
    ck_assert_int_gt(glbp_rank_cmp(&a, &b), 0);
    b.priority = 101;
    ck_assert_int_lt(glbp_rank_cmp(&a, &b), 0);
    b.flags = GLBP_FLAG_DRAINING;
    ck_assert_int_gt(glbp_rank_cmp(&a, &b), 0);
}
END_TEST

START_TEST(s5_becomes_standby_of_a_live_avg)
{
    struct peer a = peer_of("a", 1);
    stand_by(&rig, &a);
}
END_TEST

START_TEST(s5_listens_while_avg_and_standby_live_whatever_its_rank)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    struct peer *both[] = {&a, &b};
    peer_leads(&a, WALL + 1);
    peer_follows(&b, &a);
    b.msg.state = GLBP_STANDBY;
    b.msg.priority = 1;
    wait_with(&rig, 6 * HELLO, both, 2);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s5_standby_yields_to_a_higher_standby)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 30);
    stand_by(&rig, &a);
    peer_follows(&b, &a);
    b.msg.state = GLBP_STANDBY;
    (void)say(&rig, &b);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s5_standby_leads_when_the_avg_is_silent_for_its_hold)
{
    struct peer a = peer_of("a", 1);
    stand_by(&rig, &a);
    (void)say(&rig, &a);
    wait_ms(&rig, HOLD - 1);
    ck_assert_int_eq(state_of(&rig), GLBP_STANDBY);
    wait_ms(&rig, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_int_eq(rig.last[GLBP_EV_STATE].reason, GLBP_WHY_AVG_LOST);
}
END_TEST

START_TEST(s5_standby_leads_at_once_when_the_avg_resigns)
{
    struct peer a = peer_of("a", 1);
    stand_by(&rig, &a);
    (void)say_resign(&rig, &a);
    wait_ms(&rig, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    ck_assert_int_eq(rig.last[GLBP_EV_STATE].reason, GLBP_WHY_AVG_RESIGNED);
}
END_TEST

START_TEST(s5_standby_leads_at_once_when_the_avg_gives_the_role_up)
{
    struct peer a = peer_of("a", 1);
    stand_by(&rig, &a);
    a.msg.state = GLBP_LISTEN;
    peer_follows(&a, NULL);
    (void)say(&rig, &a);
    wait_ms(&rig, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s5_resign_without_a_standby_is_refused)
{
    struct peer a = peer_of("a", 1);
    lead(&rig, &(struct peer *){&a}, 1);
    ck_assert_int_eq(command(&rig, GLBP_CMD_RESIGN, 0), GLBP_E_REFUSED);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
}
END_TEST

START_TEST(s5_resign_hands_on_with_an_empty_follows_three_times)
{
    struct peer a = peer_of("a", 1);
    lead(&rig, &(struct peer *){&a}, 1);
    a.msg.state = GLBP_STANDBY;
    (void)say(&rig, &a);
    wait_ms(&rig, 50);
    rig_clear(&rig);
    ck_assert_int_eq(command(&rig, GLBP_CMD_RESIGN, 0), 0);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    wait_ms(&rig, 40);
    ck_assert_uint_eq(rig.hellos, 3);
    ck_assert(!rig.hello.follows.present);
    ck_assert_uint_eq(rig.resigns, 0); /* no kind 2: the process lives on */
}
END_TEST

START_TEST(s5_having_given_up_it_does_not_leave_listen_for_one_hold)
{
    struct peer a = peer_of("a", 1);
    lead(&rig, &(struct peer *){&a}, 1);
    a.msg.state = GLBP_STANDBY;
    (void)say(&rig, &a);
    ck_assert_int_eq(command(&rig, GLBP_CMD_RESIGN, 0), 0);
    peer_leads(&a, WALL + 100000);
    wait_with(&rig, HOLD - 10, &(struct peer *){&a}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
    wait_with(&rig, 2 * HELLO, &(struct peer *){&a}, 1);
    ck_assert_int_eq(state_of(&rig), GLBP_STANDBY);
}
END_TEST

START_TEST(s5_draining_avg_gives_up_once_a_standby_is_there)
{
    struct peer a = peer_of("a", 1);
    lead(&rig, &(struct peer *){&a}, 1);
    (void)command(&rig, GLBP_CMD_DRAIN, 0);
    ck_assert_int_eq(state_of(&rig), GLBP_ACTIVE);
    a.msg.state = GLBP_STANDBY;
    (void)say(&rig, &a);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s5_draining_node_does_not_stand_while_another_could)
{
    struct peer a = peer_of("a", 1);
    struct peer b = peer_of("b", 2);
    struct peer *both[] = {&a, &b};
    peer_leads(&a, WALL + 1);
    peer_follows(&b, &a);
    (void)command(&rig, GLBP_CMD_DRAIN, 0);
    wait_with(&rig, 4 * HELLO, both, 2);
    ck_assert_int_eq(state_of(&rig), GLBP_LISTEN);
}
END_TEST

START_TEST(s5_shutdown_resigns_three_times)
{
    wait_ms(&rig, 3 * HELLO);
    rig_clear(&rig);
    ck_assert_int_eq(command(&rig, GLBP_CMD_SHUTDOWN, 0), 0);
    ck_assert_int_eq(state_of(&rig), GLBP_DISABLED);
    ck_assert_uint_eq(rig.resigns, 1);
    wait_ms(&rig, 10);
    ck_assert_uint_eq(rig.resigns, 2);
    ck_assert(!glbp_group_is_done(rig.group));
    wait_ms(&rig, 20);
    ck_assert_uint_eq(rig.resigns, 3);
    ck_assert(glbp_group_is_done(rig.group));
}
END_TEST

START_TEST(s5_shutdown_waits_for_the_successor_at_most_1_s)
{
    struct peer a = peer_of("a", 1);
    lead(&rig, &(struct peer *){&a}, 1);
    a.msg.state = GLBP_STANDBY;
    (void)say(&rig, &a);
    (void)command(&rig, GLBP_CMD_SHUTDOWN, 0);
    wait_ms(&rig, 500);
    ck_assert(!glbp_group_is_done(rig.group));
    peer_leads(&a, WALL + 100000);
    (void)say(&rig, &a);
    ck_assert(glbp_group_is_done(rig.group));
}
END_TEST

/* Every pair of state and trigger has a row, or stays by intent; no row leads where it may not. */
START_TEST(s5_every_state_and_trigger_is_decided)
{
    size_t n;
    const struct glbp_election_row *rows = glbp_election_rows(&n);
    bool has[GLBP_STATES][GLBP_TRIGGERS] = {{false}};
    for (size_t i = 0; i < n; i++)
        for (unsigned state = 0; state < GLBP_STATES; state++)
            if ((rows[i].from & 1U << state) != 0) {
                has[state][rows[i].trigger] = true;
                ck_assert_uint_ne(rows[i].to, state);
            }
    for (unsigned state = GLBP_INITIAL; state < GLBP_STATES; state++) {
        ck_assert(has[state][GLBP_ON_SETTLE]);
        ck_assert(has[state][GLBP_ON_SHUTDOWN]);
        ck_assert(has[state][GLBP_ON_STALL] == (state >= GLBP_SPEAK));
        ck_assert(has[state][GLBP_ON_RESIGN] == (state == GLBP_ACTIVE));
    }
}
END_TEST

static void put_states(char *text, size_t cap, unsigned set)
{
    bool first = true;
    for (unsigned state = 0; state < GLBP_STATES; state++) {
        if ((set & 1U << state) == 0)
            continue;
        size_t len = strlen(text);
        (void)snprintf(text + len, cap - len, "%s%s", first ? "" : ", ", glbp_state_name(state));
        first = false;
    }
}

/* The table as it stands in proto/README.md: one line a row. */
static void draw_row(const struct glbp_election_row *row, char *ret, size_t cap)
{
    static const char *const triggers[GLBP_TRIGGERS] = {"", "stall", "resign", "shutdown"};
    char from[128] = "";
    put_states(from, sizeof(from), row->from);
    (void)snprintf(ret, cap, "| %s | %s | %s | %s | %s |\n", from, triggers[row->trigger],
                   row->when, row->on_tick ? "tick" : "", glbp_state_name(row->to));
}

START_TEST(s5_the_table_is_drawn_as_it_is)
{
    static char page[32768];
    FILE *file = fopen(GLBP_STATES_PAGE, "r");
    ck_assert_ptr_nonnull(file);
    page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
    (void)fclose(file);
    size_t n;
    const struct glbp_election_row *rows = glbp_election_rows(&n);
    for (size_t i = 0; i < n; i++) {
        char line[512];
        draw_row(&rows[i], line, sizeof(line));
        ck_assert_msg(strstr(page, line) != NULL, "proto/README.md lacks the line %s", line);
    }
}
END_TEST

TCase *states_case(void)
{
    TCase *tcase = tcase_create("5 states");
    tcase_add_checked_fixture(tcase, open_rig, close_rig);
    tcase_add_test(tcase, s5_alone_listens_speaks_and_leads);
    tcase_add_test(tcase, s5_no_socket_is_initial_and_never_avg);
    tcase_add_test(tcase, s2_cut_off_is_not_eligible);
    tcase_add_test(tcase, s5_listen_waits_for_its_window);
    tcase_add_test(tcase, s5_listen_stays_below_a_higher_candidate);
    tcase_add_test(tcase, s5_speak_yields_to_a_higher_candidate);
    tcase_add_test(tcase, s5_speak_does_not_yield_to_a_lower_candidate);
    tcase_add_test(tcase, s1_rank_draining_then_priority_then_address_then_name);
    tcase_add_test(tcase, s5_becomes_standby_of_a_live_avg);
    tcase_add_test(tcase, s5_listens_while_avg_and_standby_live_whatever_its_rank);
    tcase_add_test(tcase, s5_standby_yields_to_a_higher_standby);
    tcase_add_test(tcase, s5_standby_leads_when_the_avg_is_silent_for_its_hold);
    tcase_add_test(tcase, s5_standby_leads_at_once_when_the_avg_resigns);
    tcase_add_test(tcase, s5_standby_leads_at_once_when_the_avg_gives_the_role_up);
    tcase_add_test(tcase, s5_resign_without_a_standby_is_refused);
    tcase_add_test(tcase, s5_resign_hands_on_with_an_empty_follows_three_times);
    tcase_add_test(tcase, s5_having_given_up_it_does_not_leave_listen_for_one_hold);
    tcase_add_test(tcase, s5_draining_avg_gives_up_once_a_standby_is_there);
    tcase_add_test(tcase, s5_draining_node_does_not_stand_while_another_could);
    tcase_add_test(tcase, s5_shutdown_resigns_three_times);
    tcase_add_test(tcase, s5_shutdown_waits_for_the_successor_at_most_1_s);
    tcase_add_test(tcase, s5_every_state_and_trigger_is_decided);
    tcase_add_test(tcase, s5_the_table_is_drawn_as_it_is);
    return tcase;
}
