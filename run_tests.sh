#!/usr/bin/env bash
# The gate: lint, format, types, import contracts, the dashboard's own checks, tests. Makes the environment when there
# is none. Arguments go to pytest, e.g. ./run_tests.sh tests/physics -k noise
set -euo pipefail

source "$(dirname -- "${BASH_SOURCE[0]}")/scripts/environment.sh"
source "$root/scripts/dashboard.sh"
source "$root/scripts/browser.sh"
ensure_environment
ensure_dashboard || true
ensure_browser
cd -- "$root"

# A failing check does not stop the tests; pytest's summary names it (tests/conftest.py), and the exit status is 1.
HMS_FAILED_CHECKS=
check() {
    local name=$1
    shift
    printf -- '-- %s\n' "$name"
    "$@" || HMS_FAILED_CHECKS+="${HMS_FAILED_CHECKS:+, }$name"
}
check "ruff check" "$venv/bin/ruff" check --quiet
check "ruff format" "$venv/bin/ruff" format --check --quiet
check "mypy" "$venv/bin/mypy" --no-error-summary
check "import contracts" "$venv/bin/lint-imports" --no-logo
if [[ $# == 0 ]]; then
    check "dashboard lint and types" npm --prefix dashboard run --silent check
    check "dashboard tests" npm --prefix dashboard run --silent test
fi
export HMS_FAILED_CHECKS

printf -- '-- pytest\n'
# By file: tests of one file share servers and browsers.
exec "$venv/bin/python" -m pytest -n auto --dist loadfile "$@"
