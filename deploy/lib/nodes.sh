#!/bin/bash
# The nodes of a demo: an agent and a BFF each, whose process ids are in their folders. To be sourced by the
# demo after it has set `dir`; or run, for the buttons of the demo's page:
#
#   nodes.sh NODE ACTION      NODE: bff-1 …, of the demo whose folder $GLBP_DEMO is
#
#   kill, freeze, fail, slow  the BFF: SIGKILL; SIGSTOP; answers 503; answers after 3 s
#   drain                     the agent gives its slots to the others
#   off                       SIGKILL of BFF and agent together
#   restart                   both end in order, and start again
#   mend                      takes all of that away
# shellcheck disable=SC2154 # dir, BIN and bff_port are the demo's, or in its file of settings

SLOW_MS=3000
bold='' plain='' colours=('' '' '' '')
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    # shellcheck disable=SC2034 # bold is the demo's
    bold=$'\e[1m' plain=$'\e[0m' colours=('' $'\e[36m' $'\e[35m' $'\e[33m')
fi

# pid_of agent|bff N
pid_of() {
    cat "$dir/bff-$2/$1.pid" 2>/dev/null
}

# Whose parent has ended and does not clear it away may be dead and there all the same.
alive() {
    [ -n "$1" ] && kill -0 "$1" 2>/dev/null && ! grep -qs '^State:.Z' "/proc/$1/status"
}

now_ms() {
    echo $((${EPOCHREALTIME/./} / 1000))
}

# wait_for SECONDS COMMAND…
wait_for() {
    local end=$(($(now_ms) + $1 * 1000))
    shift
    until "$@"; do
        [ "$(now_ms)" -lt "$end" ] || return 1
        sleep 0.02
    done
}

glbpctl() {
    "$BIN/glbpctl" -s "$dir/bff-$1/control.sock" "${@:2}"
}

bff_answers() {
    curl -sf -m 1 -o /dev/null "http://127.0.0.$1:$bff_port/health"
}

start_bff() {
    ! alive "$(pid_of bff "$1")" || return 0
    node deploy/bff/bff.mjs --host "127.0.0.$1" --port "$bff_port" --name "bff-$1" \
        >>"$dir/bff-$1/bff.log" 2>&1 </dev/null &
    echo $! >"$dir/bff-$1/bff.pid"
    disown # bash would tell of its end
}

# The agent's log comes on stdout, each line with its node in front; the pipe outlives a Ctrl-C so
# that the last words of the agents are seen.
start_agent() {
    ! alive "$(pid_of agent "$1")" || return 0
    local log
    exec {log}> >(trap '' INT && exec sed -u "s/^/${colours[$1]}bff-$1$plain /" 2>/dev/null)
    log_pids+=($!)
    "$BIN/glbpd" -c "$dir/bff-$1/gateway.json" </dev/null >/dev/null 2>&"$log" &
    echo $! >"$dir/bff-$1/agent.pid"
    disown
    exec {log}>&-
}

# end_process SIGNAL PID: and sees it end, within 3 s.
end_process() {
    alive "$2" || return 0
    kill "-$1" "$2" 2>/dev/null
    kill -CONT "$2" 2>/dev/null
    for _ in {1..60}; do
        alive "$2" || return 0
        sleep 0.05
    done
    kill -KILL "$2" 2>/dev/null
}

kill_bff() {
    end_process KILL "$(pid_of bff "$1")"
}

# As a host that loses its power: both at once.
kill_node() {
    kill -KILL "$(pid_of agent "$1")" "$(pid_of bff "$1")" 2>/dev/null
    end_process KILL "$(pid_of agent "$1")"
    kill_bff "$1"
}

start_node() {
    start_bff "$1"
    wait_for 10 bff_answers "$1" || { echo "the BFF of bff-$1 does not answer" >&2 && return 1; }
    start_agent "$1"
}

# signal_bff SIGNAL N
signal_bff() {
    kill "-$1" "$(pid_of bff "$2")" 2>/dev/null || { echo "the BFF of bff-$2 does not run" >&2 && return 1; }
}

# set_fault N JSON
set_fault() {
    curl -sSf -m 2 -o /dev/null -d "$2" "http://127.0.0.$1:$bff_port/fault"
}

restart_node() {
    end_process TERM "$(pid_of agent "$1")"
    end_process TERM "$(pid_of bff "$1")"
    start_node "$1"
}

mend_node() {
    ! alive "$(pid_of bff "$1")" || signal_bff CONT "$1"
    start_bff "$1"
    wait_for 10 set_fault "$1" '{"status": 0, "slow_ms": 0}' 2>/dev/null
    if alive "$(pid_of agent "$1")"; then
        glbpctl "$1" undrain web >/dev/null
    else
        start_node "$1"
    fi
}

# do_to_node N ACTION
do_to_node() {
    case $2 in
    kill) kill_bff "$1" ;;
    freeze) signal_bff STOP "$1" ;;
    fail) set_fault "$1" '{"status": 503}' ;;
    slow) set_fault "$1" "{\"slow_ms\": $SLOW_MS}" ;;
    drain) glbpctl "$1" drain web >/dev/null ;;
    off) kill_node "$1" ;;
    restart) restart_node "$1" ;;
    mend) mend_node "$1" ;;
    *) echo "no action $2" >&2 && return 2 ;;
    esac
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -uo pipefail
    cd "$(dirname "$0")/../.." || exit 1
    # shellcheck source=/dev/null # the demo writes it
    . "${GLBP_DEMO:?names no folder of a demo}/settings"
    log_pids=()
    # One at a time to a node; who is started must not hold the lock.
    { flock 8 && do_to_node "${1#bff-}" "$2" 8>&-; } 8>"$dir/$1/lock"
fi
