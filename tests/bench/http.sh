#!/bin/bash
# GET /pool against nginx: requests per second and CPU per request of glbpd with one HTTP thread and
# of one nginx worker that serves the same bytes as a file, on the same core, in turn, in the same
# run. Prints ratios (glbpd : nginx), never asserts.
#
#   tests/bench/http.sh GLBPD [ROUNDS] [SECONDS]
#
# Needs nginx, wrk, curl (apt-get install nginx-light wrk curl) and two cores.
set -euo pipefail

glbpd=${1:?usage: tests/bench/http.sh GLBPD [ROUNDS] [SECONDS]}
rounds=${2:-5}
seconds=${3:-3}
core=0
dir=$(mktemp -d)
chmod 755 "$dir" # nginx's worker is another user
pids=()
# shellcheck disable=SC2317  # called by the trap
cleanup() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$dir"
}
trap cleanup EXIT

# ---- Both servers -------------------------------------------------------------------------------

cat >"$dir/gateway.json" <<END
{"node": "bench-1", "state_dir": "$dir/state", "control": "$dir/control.sock",
 "transport": {"listen": "127.0.0.1:13222", "peers": ["127.0.0.1:13223"]},
 "http": {"listen": "127.0.0.1:18080", "admin_listen": "", "threads": 1},
 "groups": [{"name": "web", "id": 10, "url": "https://bff-1.example.com", "checks": [],
             "timers": {"hello_ms": 100, "hold_ms": 350}}]}
END
taskset -c $core "$glbpd" -c "$dir/gateway.json" 2>"$dir/glbpd.log" &
glbpd_pid=$!
pids+=("$glbpd_pid")
for _ in $(seq 100); do
    curl -sf -o "$dir/pool" -D "$dir/head" http://127.0.0.1:18080/pool && break
    sleep 0.1
done
[ -s "$dir/pool" ] || { echo "glbpd serves no pool:" >&2; cat "$dir/glbpd.log" >&2; exit 1; }

# nginx adds the headers that /pool has beside those that it makes itself.
headers=$(sed -nE 's/^((GLBP|Access|Timing|X-|Cache)[A-Za-z-]*): (.*)\r$/add_header \1 "\3";/p' "$dir/head")
cat >"$dir/nginx.conf" <<END
daemon off; worker_processes 1; pid $dir/nginx.pid; error_log $dir/nginx.log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000; open_file_cache max=10; sendfile on; tcp_nopush on;
       default_type application/json;
       server { listen 127.0.0.1:18090; root $dir; $headers } }
END
taskset -c $core nginx -p "$dir" -c "$dir/nginx.conf" 2>"$dir/nginx.err" &
pids+=("$!")
for _ in $(seq 100); do
    curl -sf -o /dev/null http://127.0.0.1:18090/pool && break
    sleep 0.1
done
cmp -s "$dir/pool" <(curl -s http://127.0.0.1:18090/pool) ||
    { echo "nginx does not serve the same:" >&2; cat "$dir/nginx.log" "$dir/nginx.err" >&2; exit 1; }
nginx_pid=$(pgrep -P "$(cat "$dir/nginx.pid")")

# ---- Measuring ----------------------------------------------------------------------------------

# CPU time of a process and its threads, in ticks.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{print $12 + $13}'; }

# run PID PORT [header]: "requests per second, CPU us per request".
run() {
    local before after
    before=$(ticks "$1")
    taskset -c 1 wrk -t1 -c50 -d"${seconds}s" ${3:+-H "$3"} "http://127.0.0.1:$2/pool" >"$dir/wrk"
    after=$(ticks "$1")
    awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" '
        /Requests\/sec/ { rate = $2 } / requests in / { n = $1 }
        / Non-2xx/ || /Socket errors/ { print > "/dev/stderr" }
        END { print rate, ticks * 1e6 / hz / n }' "$dir/wrk"
}

# compare NAME [header]: medians of the ratios of the rounds.
compare() {
    for _ in $(seq "$rounds"); do
        echo "$(run "$glbpd_pid" 18080 "${2:-}") $(run "$nginx_pid" 18090 "${2:-}")"
    done >"$dir/rows"
    awk '{ print $1 / $3 }' "$dir/rows" | sort -n >"$dir/rates"
    awk '{ print $2 / $4 }' "$dir/rows" | sort -n >"$dir/costs"
    awk -v name="$1" -v rate="$(sed -n "$(((rounds + 1) / 2))p" "$dir/rates")" \
        -v cost="$(sed -n "$(((rounds + 1) / 2))p" "$dir/costs")" '
        { a += $1; b += $3 }
        END { printf "%-12s %8.0f req/s, nginx %8.0f req/s: rate %.2f, CPU per request %.2f\n",
                     name, a / NR, b / NR, rate, cost }' "$dir/rows"
}

echo "GET /pool ($(stat -c %s "$dir/pool") bytes), $rounds rounds of $seconds s, medians of glbpd : nginx"
compare keep-alive
compare close "Connection: close"
