"""The command line of every program of the cluster; README.md explains the unusual flags."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from deploy.local.layout import (
    API_PORT,
    ETCD_PORTS,
    NODE_ADDRESS,
    NODE_NAME,
    SERVICE_RANGE,
    Layout,
)
from deploy.local.node.nodes import Node, nodes_of

_NOT_NEEDED: Final = (
    *("certificatesigningrequest-approving", "certificatesigningrequest-cleaner"),
    *("certificatesigningrequest-signing", "podcertificaterequest-cleaner"),
    *("kube-apiserver-serving-clustertrustbundle-publisher", "legacy-serviceaccount-token-cleaner"),
    *("persistentvolume-attach-detach", "persistentvolume-expander"),
    *("volumeattributesclass-protection", "ephemeral-volume"),
    *("endpointslice-mirroring", "service-cidr", "horizontal-pod-autoscaler"),
    *("device-taint-eviction", "resourceclaim", "replicationcontroller"),
    *("storage-version-migrator", "storageversion-garbage-collector"),
)
"""Controllers for objects that nothing here creates. Each has timers and watches, the one of
volumes to attach ten times a second: without them the controller manager takes a sixth less."""


def control_plane(layout: Layout, binaries: Path) -> dict[str, list[str]]:
    """The programs that answer on the API's port; started first."""
    home, client = layout.inner_home, f"http://127.0.0.1:{ETCD_PORTS[0]}"
    peer = f"http://127.0.0.1:{ETCD_PORTS[1]}"
    return {
        "etcd": [
            "etcd",
            f"--data-dir={home}/etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            # A crash of the machine may lose this cluster: fast tests are worth more.
            "--unsafe-no-fsync",
            # There is no other member that needs a sign of life ten times a second, and writes may
            # reach the database a second later: that and the API server's polls are a fifth of
            # etcd's processor time. Once a second would do, but at its start etcd elects itself
            # after up to five times the interval, and everything waits for it.
            *("--heartbeat-interval=400", "--election-timeout=2000"),
            *("--backend-batch-interval=1s", "--log-level=error"),
        ],
        **{node.program("containerd"): _containerd(node) for node in nodes_of(layout)},
        "kube-apiserver": _api_server(layout, binaries, client),
    }


def _api_server(layout: Layout, binaries: Path, etcd: str) -> list[str]:
    keys = f"{layout.inner_home}/certificates"
    return [
        str(binaries / "kube-apiserver"),
        f"--etcd-servers={etcd}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={keys}/accounts.pub",
        f"--service-account-signing-key-file={keys}/accounts.key",
        f"--token-auth-file={keys}/tokens.csv",
        "--authorization-mode=Node,RBAC",
        f"--secure-port={API_PORT}",
        f"--advertise-address={NODE_ADDRESS}",
        f"--tls-cert-file={keys}/api.crt",
        f"--tls-private-key-file={keys}/api.key",
        f"--client-ca-file={keys}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={keys}/ca.crt",
        f"--kubelet-client-certificate={keys}/api-to-kubelet.crt",
        f"--kubelet-client-key={keys}/api-to-kubelet.key",
        f"--requestheader-client-ca-file={keys}/ca.crt",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={keys}/front-proxy.crt",
        f"--proxy-client-key-file={keys}/front-proxy.key",
        "--enable-aggregator-routing=true",
        "--allow-privileged=true",
        # Nobody reads these metrics.
        "--etcd-count-metric-poll-period=0",
        "--etcd-db-metric-poll-interval=0",
        f"--cert-dir={keys}/made",
    ]


def node(layout: Layout, binaries: Path) -> dict[str, list[str]]:
    """The programs that need the API; started when it answers."""
    home = layout.inner_home
    kubeconfig = f"--kubeconfig={home}/{layout.kubeconfig.name}"
    return {
        "kube-controller-manager": [
            str(binaries / "kube-controller-manager"),
            kubeconfig,
            f"--service-account-private-key-file={home}/certificates/accounts.key",
            f"--root-ca-file={home}/certificates/ca.crt",
            f"--cert-dir={home}/certificates/made",
            "--use-service-account-credentials",
            "--leader-elect=false",
            f"--controllers=*,{','.join(f'-{name}-controller' for name in _NOT_NEEDED)}",
        ],
        "kube-scheduler": [
            str(binaries / "kube-scheduler"),
            kubeconfig,
            f"--cert-dir={home}/certificates/made",
            "--leader-elect=false",
        ],
        "kube-proxy": [
            str(binaries / "kube-proxy"),
            f"--config={home}/settings/kube-proxy.json",
            f"--hostname-override={NODE_NAME}",
        ],
        **{
            node.program("kubelet"): _kubelet(node, binaries, kubeconfig)
            for node in nodes_of(layout)
        },
    }


def _containerd(node: Node) -> list[str]:
    argv = ["containerd", "--config", f"{node.inner_home}/settings/containerd.toml"]
    return _under_its_name(node.program("containerd"), argv)


def _kubelet(node: Node, binaries: Path, kubeconfig: str) -> list[str]:
    argv = [
        str(binaries / "kubelet"),
        f"--config={node.inner_home}/settings/kubelet.json",
        kubeconfig,
        f"--hostname-override={node.name}",
        f"--node-ip={node.address}",
        f"--root-dir={node.inner_home}/kubelet",
        f"--cert-dir={node.layout.inner_home}/certificates/made",
    ]
    return _under_its_name(node.program("kubelet"), argv)


def _under_its_name(name: str, argv: list[str]) -> list[str]:
    """Let a second node's program show in `ps` under its name here, so that it can be found."""
    if Path(argv[0]).name == name:
        return argv
    return ["bash", "-c", 'exec -a "$0" "$@"', name, *argv]


def names(layout: Layout, binaries: Path) -> list[str]:
    """All programs of a whole cluster."""
    return [*control_plane(layout, binaries), *node(layout, binaries)]
