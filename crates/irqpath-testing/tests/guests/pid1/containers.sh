# SPDX-License-Identifier: GPL-2.0-or-later
# Containers of runc below systemd, as podman, containerd and cri-o have theirs, whose hooks are those of
# docs/shield-containers.md. Part of the jobs of pid1.

scope() { echo "/sys/fs/cgroup/system.slice/runc-$1.scope"; }
container_pid() { head -n 1 "$(scope "$1")/cgroup.procs"; }

# make_bundle NAME [CPUS]: a container that sleeps, and asks for these CPUs.
make_bundle() {
	mkdir -p /run/rootfs/bin "/run/$1"
	cp /usr/bin/busybox /run/rootfs/bin/
	(cd "/run/$1" && rm -f config.json && runc spec)
	hook='"path": "/usr/bin/irqpath", "args": ["irqpath", "shield", "hook", "--allow", "2-3"]'
	asked=
	[ -z "${2-}" ] || asked="\"annotations\": { \"org.irqpath.shield\": \"$2\" }, \"hooks\": {
		\"createRuntime\": [{ $hook }], \"poststop\": [{ $hook }] },"
	{
		printf '{ %s\n' "$asked"
		sed -e 1d -e 's/"terminal": true/"terminal": false/' -e 's#"path": "rootfs"#"path": "/run/rootfs"#' \
			-e 's#"sh"#"/bin/busybox", "sleep", "100000"#' "/run/$1/config.json"
	} > "/run/$1/new.json"
	mv "/run/$1/new.json" "/run/$1/config.json"
}

# start_container NAME [CPUS]
start_container() {
	make_bundle "$@"
	runc --systemd-cgroup run -d --bundle "/run/$1" "$1" < /dev/null > "/run/$1/log" 2>&1
}

has_container() { start_container "$@" || fail "runc run $*: $(cat "/run/$1/log")"; }

# end_container NAME: it dies by itself, and its runtime cleans up.
end_container() {
	kill -KILL "$(container_pid "$1")"
	wait_for 20 eval "runc state $1 | grep -q stopped"
	run_ok runc delete "$1"
}

container_partition() { partition "runc-$1.scope"; }
exec_in() { runc exec "$@"; }

contained() {
	beside_each_other
	start_container three 3 && fail 'a container takes a CPU of another one'
	grep -q 'already; choose others' /run/three/log || fail "taken: $(cat /run/three/log)"
	# The first goes first.
	end_container one
	expect 'CPU of two, alone' "$(affinity "$(container_pid two)")" 2
	expect 'CPUs of another container, after one' "$(affinity "$(container_pid plain)")" 0-1,3
	# The same name again, which is another container.
	has_container one 3
	expect 'CPU of one, again' "$(affinity "$(container_pid one)")" 3
	end_container two
	expect 'CPU of one, alone' "$(affinity "$(container_pid one)")" 3
	end_container one
	same 'after containers' contained
	# Its runtime is killed before it calls the hook, and cleans up later; meanwhile a reset, and a repair.
	for back in reset repair; do
		has_container one 3
		kill -KILL "$(container_pid one)"
		wait_for 20 eval '[ ! -e "$(scope one)" ]'
		run_ok irqpath shield $back
		run_ok runc delete one
		same "after a container that a $back outlived" contained
	done
	# Its runtime is killed while the hook waits for another irqpath.
	has_container one 3
	kill -KILL "$(container_pid one)"
	wait_for 20 eval 'runc state one | grep -q stopped'
	flock /run/irqpath/lock sleep 20 &
	timeout --foreground -s KILL 5 runc delete one > output 2>&1
	[ -e /var/lib/irqpath/shield.journal ] || fail 'a hook did not wait for another irqpath'
	wait_for 60 eval '[ ! -e /var/lib/irqpath/shield.journal ]'
	runc delete -f one > output 2>&1
	same 'after a hook that had to wait' contained
	runc delete -f plain
	wait_for 20 eval '[ ! -e "$(scope plain)" ]'
	# systemd keeps the controllers that it gave to containers.
	hoststate before
}
