# Prometheus for the tests of the monitoring files; ./run_tests.sh sources this file after environment.sh. It offers
# `ensure_prometheus`, which installs Debian's package when there is none and the machine allows it, without starting it.

ensure_prometheus() {
    command -v prometheus >/dev/null && command -v promtool >/dev/null && return
    if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        say "Installing Prometheus for the tests of the monitoring files ..."
        # The package starts a service of the system where it can: not in runlevel 1, nor where systemd is said to be away.
        (apt-get update -qq && RUNLEVEL=1 SYSTEMD_OFFLINE=1 DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends prometheus) >/dev/null 2>&1 && return
    fi
    say "There is no Prometheus here, so the tests that ask it are skipped; install the package 'prometheus'."
}
