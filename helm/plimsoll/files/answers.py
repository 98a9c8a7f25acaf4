"""What `helm test` runs in the cluster: asks controller and admission, says what is wrong."""

import json
import os
import socket
import ssl
import sys
import time
import urllib.request

TRY_FOR_S = 45.0
AUTHORITY = "/authority/ca.crt"


def controller_is_ready() -> str:
    """Ask the controller that leads."""
    address = os.environ["CONTROLLER"]
    host = f"[{address}]" if ":" in address else address
    with urllib.request.urlopen(f"http://{host}:8081/readyz", timeout=5) as answer:
        return f"the controller says {answer.read().decode().strip()!r}"


def admission_admits() -> str:
    """Ask admission as the API server does: by its Service's address, its name proven."""
    name = os.environ["ADMISSION_NAME"]
    context = ssl.create_default_context(cafile=AUTHORITY)
    pod = {"kind": "Pod", "metadata": {"name": "asked", "namespace": "helm-test"}}
    pod["spec"] = {"containers": [{"name": "main", "image": "none"}]}
    request = {"uid": "helm-test", "operation": "CREATE", "namespace": "helm-test", "object": pod}
    request["resource"] = {"group": "", "version": "v1", "resource": "pods"}
    request["kind"] = {"group": "", "version": "v1", "kind": "Pod"}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    body = json.dumps(review).encode()
    head = f"POST /size HTTP/1.1\r\nHost: {name}\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    with (
        socket.create_connection((os.environ["ADMISSION"], 443), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname=name) as secure,
    ):
        secure.sendall(head.encode() + body)
        said = b"".join(iter(lambda: secure.recv(65536), b"")).decode()
    if '"allowed":true' not in said.replace(" ", ""):
        raise OSError(f"admission does not admit: {said[:300]}")
    return f"admission admits, its certificate is {name}'s"


def main() -> None:
    """Try each until it answers; end with 1 and a sentence if one does not."""
    give_up_s = time.monotonic() + TRY_FOR_S
    for ask in (controller_is_ready, admission_admits):
        while True:
            try:
                print(ask(), flush=True)
                break
            except OSError as error:
                if time.monotonic() > give_up_s:
                    sys.exit(f"{ask.__name__.replace('_', ' ')}: no, {error}")
                time.sleep(1)


main()
