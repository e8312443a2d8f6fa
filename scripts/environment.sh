# The project's environment; ./hms and ./run_tests.sh source this file. It sets `root` (the checkout) and `venv`, and
# offers `ensure_environment`, which makes and fills the virtual environment when that is needed and otherwise only
# compares the stamp. Everything it says goes to standard error. Plain bash, 3.2 or later.

root=$(CDPATH='' cd -- "${BASH_SOURCE[0]%/*}/.." && pwd -P)
venv=$root/.venv
stamp=$venv/installed
extras=dev

say() { printf '%s\n' "$*" >&2; }

ensure_environment() {
    is_current && return
    if command -v flock >/dev/null; then
        # Two first runs at once: the second waits, and then finds the work done. The lock outlives `venv --clear`.
        (flock 9 && { is_current || install_environment; }) 9>"$root/.venv.lock"
    else
        install_environment
    fi
}

# The stamp is written last, so an interrupted installation has none and is done again.
is_current() { [[ -x $venv/bin/python && -f $stamp && $(<"$stamp") == "$(wanted_stamp)" ]]; }

wanted_stamp() {
    printf '%s\n' "$root" "$extras" "$(readlink -f "$venv/bin/python")" "$(<"$root/pyproject.toml")"
}

install_environment() {
    local python wanted
    if ! is_usable; then
        python=$(find_python) || return 1
        say "Making .venv with $("$python" --version 2>&1) ..."
        "$python" -m venv --clear "$venv" >&2 || return 1
    fi
    rm -f "$stamp"
    wanted=$(wanted_stamp)
    say "Installing into .venv (a minute or two the first time) ..."
    if ! "$venv/bin/python" -m pip install -qq --disable-pip-version-check -e "$root[$extras]" >&2; then
        say "The installation failed, see above; run the command again once the cause is removed."
        return 1
    fi
    say "Compiling what the live race needs ..."
    if ! "$venv/bin/python" -m hybrid_scheduler.live.warm >&2; then
        say "The compilation failed, see above; the live race will try again when it starts."
    fi
    printf '%s\n' "$wanted" >"$stamp"
}

# False for an environment that is half-made, moved or copied here, or made by a Python that is gone or too old.
is_usable() {
    "$venv/bin/python" -c "$new_enough" >/dev/null 2>&1 &&
        [[ $("$venv/bin/pip" --version 2>/dev/null) == *" from $venv/"* ]]
}

new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

# Prints the first Python that is new enough and can make virtual environments; HMS_PYTHON names one instead.
find_python() {
    local candidate without_venv='' candidates=(python3.13 python3.12 python3.11 python3 python)
    if [[ ${HMS_PYTHON:-} ]]; then candidates=("$HMS_PYTHON"); fi
    for candidate in "${candidates[@]}"; do
        "$candidate" -c "$new_enough" >/dev/null 2>&1 || continue
        if "$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
        without_venv=${without_venv:-$candidate}
    done
    if [[ $without_venv ]]; then
        say "$without_venv cannot make virtual environments: its venv or ensurepip module is missing."
        say "On Debian and Ubuntu, 'apt install python3-venv' brings them."
    else
        say "Python 3.11 or later is needed, but none of these is one: ${candidates[*]}."
        say "Install it, or name one with HMS_PYTHON=/path/to/python."
    fi
    return 1
}
