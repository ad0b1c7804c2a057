# Shared by the service scripts of this folder: one throw-away service per
# instance folder, watched so that it never outlives the one who asked for it.
# shellcheck shell=bash

readonly UNAVAILABLE=3 # exit code: the service cannot be had on this machine

# say MESSAGE… writes to standard error, under the script's name.
say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# unavailable MESSAGE… ends with the code for «cannot be had here».
unavailable() {
	say "$*"
	exit "$UNAVAILABLE"
}

# instance_dir KIND prints the folder of the present instance, named by
# STREAMSQL_INSTANCE; instances do not see each other.
instance_dir() {
	local name="${STREAMSQL_INSTANCE:-default}"
	case "$name" in *[!A-Za-z0-9._-]*) say "bad STREAMSQL_INSTANCE: $name" && exit 2 ;; esac
	echo "${TMPDIR:-/tmp}/streamsql-$1-$(id -u)-$name"
}

# port_free PORT tells whether nothing listens on the loopback port.
port_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_port prints a loopback port below the range that the system hands out
# itself. Another process may still take it first: callers try again.
free_port() {
	local p
	for _ in $(seq 100); do
		p=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
		if port_free "$p"; then
			echo "$p"
			return
		fi
	done
	say "no free port between 20000 and 32000"
	return 1
}

# alive DIR tells whether the process that wrote DIR/pid lives. Its command line
# must name DIR, so that a number used again by the system is not taken for it.
alive() {
	local pid
	pid=$(cat "$1/pid" 2>/dev/null) || return 1
	[ -n "$pid" ] || return 1
	ps -ww -o command= -p "$pid" 2>/dev/null | grep -qF -- "$1"
}

# watch DIR STOP starts a guard that runs STOP once the owner (STREAMSQL_OWNER,
# a process id) has gone or four hours have passed, and ends with the service.
watch() {
	local dir=$1 owner="${STREAMSQL_OWNER:-}" stop=$2
	(
		trap '' HUP INT
		for _ in $(seq 7200); do
			sleep 2
			alive "$dir" || exit 0
			if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then break; fi
		done
		"$stop"
	) </dev/null >/dev/null 2>&1 9>&- &
	echo $! >"$dir/watch.pid"
	disown
}

# unwatch DIR ends the guard.
unwatch() {
	local pid
	pid=$(cat "$1/watch.pid" 2>/dev/null) || return 0
	[ "$pid" = "${BASHPID:-}" ] || kill "$pid" 2>/dev/null || true
}

# install_packages PACKAGE… installs Debian packages where that is allowed: as
# root, in CI or with STREAMSQL_INSTALL=1.
install_packages() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
	[ "${CI:-}" = true ] || [ "${STREAMSQL_INSTALL:-}" = 1 ] || return 1
	say "installing $*"
	export DEBIAN_FRONTEND=noninteractive
	(
		exec 8>/tmp/streamsql-apt.lock
		flock 8
		apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"
	) >&2
}

# run_with VARIABLE COMMAND… runs COMMAND with VARIABLE set to the address of an
# instance of its own, which ends with the command however that ends. Outside CI
# a service that cannot be had leaves VARIABLE unset, and tests skip.
run_with() {
	local variable=$1 address code=0
	shift
	[ $# -gt 0 ] || { say "run: no command" && exit 2; }
	export STREAMSQL_INSTANCE="run-$$" STREAMSQL_OWNER=$$
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap '"$0" stop' EXIT
	address=$("$0" start) || code=$?
	if [ "$code" = "$UNAVAILABLE" ] && [ "${CI:-}" != true ]; then
		say "tests that need it will be skipped"
	elif [ "$code" != 0 ]; then
		exit 1
	else
		export "$variable=$address"
		eval "$("$0" env)" # and what else the service has to tell
	fi
	code=0
	# In the background, so that a signal reaches this shell at once; the command
	# is told of it by the exit trap below.
	env -u STREAMSQL_INSTANCE -u STREAMSQL_OWNER "$@" &
	local child=$!
	trap '{ kill -TERM '"$child"' && wait '"$child"'; } 2>/dev/null || true; "$0" stop' EXIT
	wait "$child" || code=$?
	exit "$code"
}
