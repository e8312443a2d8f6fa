# The dashboard; ./run_live_dashboard.sh and ./run_tests.sh source this file after environment.sh. It offers
# `ensure_dashboard`, which builds the page when its sources are newer than the last build. Plain bash, 3.2 or later.

dashboard=$root/dashboard
built=$root/src/hybrid_scheduler/server/static/index.html

ensure_dashboard() {
    [[ -d $dashboard ]] || return 0
    dashboard_is_current && return
    if ! command -v npm >/dev/null; then
        say "Node.js is not installed, so the dashboard is not built; a plain page stands in for it."
        return
    fi
    if command -v flock >/dev/null; then
        (flock 9 && { dashboard_is_current || build_dashboard; }) 9>"$root/.dashboard.lock"
    else
        build_dashboard
    fi
}

# Node's modules and the lock file of this script are not sources.
dashboard_is_current() {
    [[ -f $built ]] && [[ -z $(find "$dashboard" -path "$dashboard/node_modules" -prune -o -type f -newer "$built" -print -quit) ]]
}

build_dashboard() {
    say "Building the dashboard (a minute the first time) ..."
    (
        cd -- "$dashboard" &&
            { [[ -f node_modules/.package-lock.json && ! package-lock.json -nt node_modules/.package-lock.json ]] ||
                npm ci --no-audit --no-fund --loglevel=error; } >&2 &&
            npm run --silent build >&2
    ) || {
        say "The dashboard could not be built, see above; a plain page stands in for it."
        return 1
    }
}
