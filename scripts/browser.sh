# The browser for the dashboard's tests; ./run_tests.sh sources this file after environment.sh. It offers
# `ensure_browser`, which installs Debian's Chromium when there is none and the machine allows it.

ensure_browser() {
    command -v chromium >/dev/null && return
    if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        say "Installing Chromium for the dashboard's tests ..."
        (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1 && return
    fi
    say "There is no Chromium here, so the dashboard's tests will fail; install the package 'chromium'."
}
