#!/usr/bin/env bash
# The gate: lint, format, types, import contracts, tests. Makes the environment when there is none.
# Arguments go to pytest, e.g. ./run_tests.sh tests/physics -k noise
set -euo pipefail

source "$(dirname -- "${BASH_SOURCE[0]}")/scripts/environment.sh"
ensure_environment
cd -- "$root"

# A failing check does not stop the tests; pytest's summary names it (tests/conftest.py), and the exit status is 1.
HMS_FAILED_CHECKS=
check() {
    local name=$1
    shift
    printf -- '-- %s\n' "$name"
    "$venv/bin/$1" "${@:2}" || HMS_FAILED_CHECKS+="${HMS_FAILED_CHECKS:+, }$name"
}
check "ruff check" ruff check --quiet
check "ruff format" ruff format --check --quiet
check "mypy" mypy --no-error-summary
check "import contracts" lint-imports --no-logo
export HMS_FAILED_CHECKS

printf -- '-- pytest\n'
exec "$venv/bin/python" -m pytest -n auto "$@"
