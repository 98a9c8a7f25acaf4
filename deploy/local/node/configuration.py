"""The configuration files of containerd, CNI, kubelet, kube-proxy and kubectl.

They are JSON although the reader expects YAML: JSON is YAML, and the standard library writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deploy.local.layout import API_PORT, POD_RANGE, TWO_POD_RANGES, Layout
from deploy.local.node.nodes import Node, cores_beside, nodes_of

PAUSE_IMAGE: Final = "localhost/plimsoll-pause:1"
_MIB: Final = 1 << 20
_SYSTEM_BYTES: Final = 1024 * _MIB
"""For the control plane (0.65 GB measured) and other programs on the machine."""


@dataclass(frozen=True, slots=True)
class NodeSize:
    """How much of the machine a node offers.

    machine_bytes: as in /proc/meminfo; kubelet calls it the capacity.
    limit_bytes: of the container, if this machine is one.
    nodes: how many share the machine.
    """

    machine_bytes: int
    limit_bytes: int | None
    max_pods: int = 110
    nodes: int = 1

    @property
    def reserved_bytes(self) -> int:
        """The memory that kubelet subtracts to get the allocatable memory.

        It is at least `_SYSTEM_BYTES`, at most half of a small machine. To this are added what a
        limit around the machine takes away, which kubelet does not see, and the other nodes'
        shares.
        """
        usable_bytes = min(self.machine_bytes, self.limit_bytes or self.machine_bytes)
        system_bytes = min(_SYSTEM_BYTES, usable_bytes // 2)
        return self.machine_bytes - (usable_bytes - system_bytes) // self.nodes


def write_settings(layout: Layout, size: NodeSize, token: str) -> None:
    """Write every file that the programs read at their start."""
    nodes = nodes_of(layout)
    for node in nodes:
        settings = node.home / layout.settings.name
        (settings / "cni").mkdir(parents=True)
        (settings / "containerd.toml").write_text(_containerd(node))
        _write(settings / "cni" / "10-bridge.conflist", _network(node))
        _write(settings / "kubelet.json", _kubelet(node, size))
    pod_range = POD_RANGE if len(nodes) == 1 else TWO_POD_RANGES
    _write(layout.settings / "kube-proxy.json", _kube_proxy(layout, pod_range))
    layout.kubeconfig.touch(mode=0o600)
    _write(layout.kubeconfig, _kubeconfig(layout, token))


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n")


def _containerd(node: Node) -> str:
    # restrict_oom_score_adj: otherwise containers do not start without CAP_SYS_RESOURCE. runc: crun
    # fails on this cgroup layout. Root: else it is shared with other containerds.
    plugin = "io.containerd.grpc.v1.cri"
    return f"""\
version = 2
root = "{node.inner_home}/containerd"
state = "{node.run}/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{node.containerd_socket}"
[plugins."{plugin}"]
  sandbox_image = "{PAUSE_IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."{plugin}".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."{plugin}".containerd.runtimes.runc.options]
      SystemdCgroup = false
      Root = "{node.run}/runc"
  [plugins."{plugin}".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{node.inner_home}/settings/cni"
"""


def _network(node: Node) -> Mapping[str, Any]:
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": node.pod_range}]],
        "dataDir": f"{node.inner_home}/addresses",
    }
    bridge = {
        "type": "bridge",
        "bridge": node.bridge,
        "isGateway": True,
        "isDefaultGateway": True,
        "hairpinMode": True,
        "ipam": addresses,
    }
    port_map = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": node.layout.name, "plugins": [bridge, port_map]}


def _kubelet(node: Node, size: NodeSize) -> Mapping[str, Any]:
    home, keys = node.inner_home, f"{node.layout.inner_home}/certificates"
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{node.containerd_socket}",
        "cgroupDriver": "cgroupfs",
        # Two clusters on one machine would otherwise share the cgroup "kubepods", and each
        # kubelet would kill the other's pods as orphans.
        "cgroupRoot": f"/{node.cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        # These two cannot be raised without CAP_SYS_RESOURCE.
        "oomScoreAdj": 0,
        "maxOpenFiles": 20000,
        "maxPods": size.max_pods,
        "systemReserved": {"memory": f"{size.reserved_bytes // _MIB}Mi", "cpu": "100m"},
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        # Images come from files, not from a registry: a collected one does not come back.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{keys}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{keys}/{node.program('kubelet')}.crt",
        "tlsPrivateKeyFile": f"{keys}/{node.program('kubelet')}.key",
        "nodeStatusUpdateFrequency": "5s",
        "resolvConf": "",
        "podLogsDir": f"{home}/pod-logs",
        "volumePluginDir": f"{home}/volume-plugins",
        **({} if node.core is None else _beside_another(node, node.core)),
    }


def _beside_another(node: Node, core: int) -> Mapping[str, Any]:
    """Keep all pods of the node on its core, and its kubelet off the other's addresses."""
    # Not by the parent cgroup's cpuset: kubelet gives "kubepods" all processors, or does not start.
    return {
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"},
        "reservedSystemCPUs": ",".join(map(str, cores_beside(core))),
        "address": node.address,
        "port": node.kubelet_port,
        "healthzPort": node.health_port,
    }


def _kube_proxy(layout: Layout, pod_range: str) -> Mapping[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clusterCIDR": pod_range,
        "clientConnection": {"kubeconfig": f"{layout.inner_home}/{layout.kubeconfig.name}"},
        # The kernel's connection tracking belongs to the machine; leave it as it is.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }


def _kubeconfig(layout: Layout, token: str) -> Mapping[str, Any]:
    cluster = {
        "server": f"https://127.0.0.1:{API_PORT}",
        "certificate-authority": str(layout.certificates / "ca.crt"),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "plimsoll-local", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [
            {"name": "plimsoll-local", "context": {"cluster": "plimsoll-local", "user": "admin"}}
        ],
        "current-context": "plimsoll-local",
    }
