# SPDX-License-Identifier: GPL-2.0-or-later
# Pods of a kubelet without a control plane, by containerd, whose runtime has the hooks of docs/shield-containers.md.
# Part of the job beside others, with its image.

configure_containerd() {
	ctr oci spec > /run/spec.json
	python3 -c '
import json
spec = json.load(open("/run/spec.json"))
hook = [{"path": "/usr/bin/irqpath", "args": ["irqpath", "shield", "hook", "--allow", "1-3"]}]
spec["hooks"] = {"createRuntime": hook, "poststop": hook}
json.dump(spec, open("/etc/containerd/irqpath.json", "w"))'
	cat > /etc/containerd/config.toml <<- 'END'
	version = 2
	[plugins."io.containerd.grpc.v1.cri"]
	sandbox_image = "localhost/busy:latest"
	[plugins."io.containerd.grpc.v1.cri".containerd]
	snapshotter = "native"
	[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
	runtime_type = "io.containerd.runc.v2"
	base_runtime_spec = "/etc/containerd/irqpath.json"
	pod_annotations = ["org.irqpath.*"]
	[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
	SystemdCgroup = true
	END
	run_ok systemctl restart containerd
	run_ok podman save -o /run/busy.tar busy
	run_ok ctr -n k8s.io images import --snapshotter native /run/busy.tar
}

configure_kubelet() {
	mkdir -p /etc/kubernetes/manifests
	cat > /etc/kubernetes/kubelet.yaml <<- 'END'
	apiVersion: kubelet.config.k8s.io/v1beta1
	kind: KubeletConfiguration
	containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
	staticPodPath: /etc/kubernetes/manifests
	cgroupDriver: systemd
	cpuManagerPolicy: static
	reservedSystemCPUs: "0"
	makeIPTablesUtilChains: false
	fileCheckFrequency: 1s
	authentication: { anonymous: { enabled: true }, webhook: { enabled: false } }
	authorization: { mode: AlwaysAllow }
	END
	systemd-run -q --unit=kubelet kubelet --config /etc/kubernetes/kubelet.yaml --hostname-override guest
}

# pod NAME [FILE]
pod() { sed "s/name: motor/name: $1/; s#image: .*#image: localhost/busy:latest#; s/^spec:/&\n  terminationGracePeriodSeconds: 1/" "${2:-/pod.yaml}" > "/etc/kubernetes/manifests/$1.yaml"; }
no_pod() { rm "/etc/kubernetes/manifests/$1.yaml"; }
container() {
	ctr -n k8s.io containers list -q "labels.\"io.kubernetes.container.name\"==$2,labels.\"io.kubernetes.pod.name\"==$1-guest"
}
# The first process of a container of a pod.
pod_pid() {
	for id in $(container "$1" "$2"); do
		cat /sys/fs/cgroup/kubepods.slice/*/cri-containerd-"$id".scope/cgroup.procs 2> /dev/null
	done | head -n 1
}
cpus_of_pod() { affinity "$(pod_pid "$1" "$2")" 2> /dev/null; }
cpus_are() { [ "$(cpus_of_pod "$1" "$2")" = "$3" ]; }
pod_partition() { cat "/sys/fs/cgroup/$(cut -d : -f 3 "/proc/$(pod_pid "$1" app)/cgroup")/cpuset.cpus.partition"; }
# Its process is there before the hook has run, and a sidecar begins after it.
is_shielded() { cpus_are "$1" app "$2" && [ "$(pod_partition "$1")" = isolated ] && [ -n "$(pod_pid "$1" log)" ]; }
has_pod() { wait_for 240 is_shielded "$1" "$2" || fail "CPU of $1: '$(cpus_of_pod "$1" app)' $(pod_partition "$1"), not $2"; }

gone() { wait_for 240 eval "[ -z \"\$(pod_pid $1 app)\$(pod_pid $1 log)\" ]"; }
# Nor the cgroups, which the kubelet removes later.
all_gone() { wait_for 240 eval '! ls -d /sys/fs/cgroup/kubepods.slice/kubepods-pod*'; }

pods() {
	configure_containerd
	configure_kubelet
	# What its slices make of the machine, before anybody asks for a shield.
	sed '/annotations/,/shield/d' /pod.yaml > /plain.yaml
	pod plain /plain.yaml
	wait_for 240 eval '[ -n "$(pod_pid plain log)" ]'
	expect 'CPU of a pod that asks for no shield' "$(cpus_of_pod plain app)" 1
	expect 'its partition' "$(pod_partition plain)" member
	no_pod plain
	gone plain
	check 'a pod without a shield has come and gone'
	all_gone
	hoststate podless
	pod one
	has_pod one 1
	expect 'CPUs of its sidecar' "$(cpus_of_pod one log)" 0,2-3
	pod two
	has_pod two 2
	wait_for 240 cpus_are one log 0,3 || fail "CPUs of the sidecar beside two: $(cpus_of_pod one log)"
	expect 'CPU of one beside two' "$(cpus_of_pod one app)" 1
	no_drift || fail "drift beside pods: $(cat verify.txt)"
	check 'pods have the CPUs that the kubelet gave them'
	# The kubelet starts a container again, which is another one.
	before=$(pod_pid one app)
	kill -KILL "$before"
	wait_for 240 eval '[ -n "$(pod_pid one app)" ] && [ "$(pod_pid one app)" != "$before" ]'
	has_pod one 1
	# The first goes first.
	no_pod one
	gone one
	check 'the first pod is gone'
	expect 'CPU of two, alone' "$(cpus_of_pod two app)" 2
	run_ok systemctl restart containerd
	pod three
	has_pod three 1
	no_pod two
	gone two
	no_pod three
	gone three
	# A CPU that containers may not have.
	sed 's/shield.app: cpuset/shield.app: "0"/' /pod.yaml > /refused.yaml
	pod four /refused.yaml
	wait_for 240 eval 'journalctl -b -u kubelet -o cat | grep -q "CPU 0 may not be shielded for containers"'
	no_pod four
	gone four
	all_gone
	wait_for 240 eval '[ ! -e /var/lib/irqpath/shield.journal ]'
	same 'after pods' podless
	journalctl -b -o short-monotonic -u kubelet -u containerd > kubelet.txt
	journalctl -b -o short-monotonic -t irqpath > hooks.txt
	systemctl stop kubelet containerd
}
