#!/usr/bin/env bash
# The gate: lint, format, types, import contracts, the dashboard's own checks, coverage, tests. Makes the
# environment when there is none. Arguments go to pytest, e.g. ./run_tests.sh tests/physics -k noise
#
# ./run_tests.sh --fast is a quick look while working, in less than 90 s: it leaves out the dashboard and every test that
# needs a server, a database, a browser, training or patience. The whole decides.
set -euo pipefail

source "$(dirname -- "${BASH_SOURCE[0]}")/scripts/environment.sh"
source "$root/scripts/dashboard.sh"
source "$root/scripts/browser.sh"
source "$root/scripts/prometheus.sh"
ensure_environment
cd -- "$root"
fast_tests=(
    tests/model tests/physics tests/cluster tests/learning tests/workloads tests/metrics tests/engine tests/testing
    tests/hardware tests/schedulers/test_policies.py tests/schedulers/test_scheduler_registry.py
    tests/schedulers/test_colours.py tests/experiments/test_statistics.py tests/test_*.py
)

whole='' fast=''
if [[ ${1:-} == --fast ]]; then
    fast=yes
    shift
elif [[ $# == 0 ]]; then
    whole=yes
fi
if [[ ! $fast ]]; then
    ensure_dashboard || true
    ensure_browser
    ensure_prometheus
fi

# A failing check does not stop the tests; pytest's summary names it (tests/conftest.py), and the exit status is 1.
HMS_FAILED_CHECKS=
check() {
    local name=$1
    shift
    printf -- '-- %s\n' "$name"
    "$@" || HMS_FAILED_CHECKS+="${HMS_FAILED_CHECKS:+, }$name"
}
# Those that the run over everything leaves out, because they all have the same name.
types_of_conftests() {
    local file
    for file in tests/*/conftest.py tests/*/*/conftest.py; do
        [[ ! -f $file ]] || "$venv/bin/mypy" --no-error-summary "$file" || return
    done
}
check "ruff check" "$venv/bin/ruff" check --quiet
check "ruff format" "$venv/bin/ruff" format --check --quiet
check "mypy" "$venv/bin/mypy" --no-error-summary
check "import contracts" "$venv/bin/lint-imports" --no-logo
if [[ $whole ]]; then
    check "mypy, conftest.py of each folder" types_of_conftests
    check "dashboard lint and types" npm --prefix dashboard run --silent check
    check "dashboard tests" npm --prefix dashboard run --silent test
    # Of the fast tests only: tracing would make the whole half as long again, and sees neither kernels nor subprocesses.
    check "fast tests, with coverage" "$venv/bin/python" -m pytest --quiet -n auto --dist worksteal -m "not slow" --cov \
        "${fast_tests[@]}"
    export HMS_TESTED="${fast_tests[*]}"  # these have run, and need not run again (tests/conftest.py)
fi
export HMS_FAILED_CHECKS

printf -- '-- pytest\n'
if [[ $fast ]]; then
    exec "$venv/bin/python" -m pytest -n auto --dist worksteal -m "not slow" "${fast_tests[@]}" "$@"
fi
# By file: tests of one file share servers and browsers.
exec "$venv/bin/python" -m pytest -n auto --dist loadfile "$@"
