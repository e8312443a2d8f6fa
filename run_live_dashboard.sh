#!/usr/bin/env bash
# The live race with its dashboard: sets up what is missing, then runs `hms serve`. Arguments are passed on, e.g.
# ./run_live_dashboard.sh --port 8080 --load 0.5
set -euo pipefail

source "$(dirname -- "${BASH_SOURCE[0]}")/scripts/environment.sh"
source "$root/scripts/dashboard.sh"
ensure_environment
ensure_dashboard || true
cd -- "$root"
exec "$venv/bin/hms" serve "$@"
