#!/bin/bash
# Builds the example app, client/example, into DIR.
#
#   build-page.sh DIR
#
# Wants npm and its registry; where Node is older than 20.19, npm's package of it goes into build/. Nothing
# in DIR changes when it fails. The last line on stderr says what it is at, and why it failed.
set -uo pipefail
out=$(realpath -m "${1:?build-page.sh DIR}")
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=deploy/lib/packages.sh
. deploy/lib/packages.sh

quietly() {
    local log
    log=$("$@" 2>&1) || {
        printf '%s\n' "$log" | tail -15
        return 1
    } >&2
}

command -v npm >/dev/null || { echo "npm is not installed" >&2; exit 1; }
mkdir -p build
exec 9>build/page.lock && flock 9
use_modern_node || { echo "Node 20.19 or newer was not to be had from the npm registry" >&2; exit 1; }
cd client/example || exit 1
# npm writes that file last: what is older than the lock file is not whole, or of another one.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
    echo "taking the page's packages from the npm registry" >&2
    quietly timeout --foreground 300 npm ci --no-audit --no-fund --fetch-retries 1 --fetch-timeout 30000 ||
        { echo "npm ci failed in client/example: is the npm registry reachable?" >&2; exit 1; }
fi
echo "building the page" >&2
quietly timeout --foreground 120 npm run build -- --outDir "$out" --emptyOutDir ||
    { echo "vite build failed in client/example" >&2; exit 1; }
