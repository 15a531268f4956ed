# shellcheck shell=bash
# Debian packages of glbpd, and a function that installs those that are missing. To be sourced.

# shellcheck disable=SC2034  # used by those who source this
BUILD_PACKAGES=(
    build-essential cmake ninja-build pkg-config
    libuv1-dev libmsgpack-dev libcurl4-openssl-dev libmicrohttpd-dev libjansson-dev libssl-dev
)
# shellcheck disable=SC2034
TEST_PACKAGES=(
    check clang-14 libclang-rt-14-dev llvm-14 gcc-multilib qemu-user clang-format-14 clang-tidy-14 cppcheck shellcheck gcovr
    nodejs iproute2 nftables procps curl openssl libfaketime
)
# shellcheck disable=SC2034
BROWSER_PACKAGES=(chromium fonts-dejavu-core)

# install_missing PACKAGE…: asks apt for those that dpkg does not know as installed.
install_missing() {
    local package missing=()
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
            missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        echo "missing packages; as root: apt-get install ${missing[*]}" >&2
        return 1
    fi
    echo "installing ${missing[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o DPkg::Lock::Timeout=600 update >/dev/null &&
        apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# Other packages of Node than Debian's bring npm with them, and do not go together with Debian's npm.
install_npm() {
    command -v npm >/dev/null || install_missing npm
}

# The frontend's tools want Node 20.19; where the machine's is older, npm's package of it goes into build/
# and first in PATH.
use_modern_node() {
    node -e 'const [a, b] = process.versions.node.split(".").map(Number);
        process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' && return
    local modern=$PWD/build/node20/node_modules/.bin
    [ -x "$modern/node" ] ||
        npm install --prefix build/node20 --no-save --no-audit --no-fund --fetch-retries 1 node@20 >/dev/null ||
        return 1
    PATH=$modern:$PATH
}
