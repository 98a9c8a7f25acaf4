"""An image with a real Spark: its jars and Python's part of it from PyPI, Java from Debian.

``python -m tests.rigs.spark.spark_image`` makes it once and keeps it in the cache: a cluster's
network has no way out. Nothing is installed on this machine. It starts as the
images of Apache Spark do:

executor      the executor that Spark on Kubernetes asks for by its environment
driver ...    ``spark-submit --deploy-mode client ...``, as the driver's pod in cluster mode
... else      the words themselves, such as ``spark-submit /opt/jobs.py`` or ``python3``
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy.local.images.archive import write_image
from deploy.local.layout import CHECKOUT, cache_root

from tests.rigs.images.runtimes_image import unpacked
from tests.rigs.servers.locked_environments import environment_of

NAME: Final = "localhost/plimsoll-spark"
JOBS: Final = "/opt/jobs.py"
_JOBS: Final = Path(__file__).with_name("spark_jobs.py")
_LOCK: Final = CHECKOUT / "requirements" / "spark.lock"
_PACKAGES: Final = (
    *("openjdk-17-jre-headless", "libc6", "libgcc-s1", "libstdc++6", "zlib1g"),
    *("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libexpat1"),
    *("libffi8", "libssl3", "libbz2-1.0", "liblzma5", "libuuid1", "libcrypt1"),
    *("bash", "coreutils", "grep", "sed", "libtinfo6", "libacl1", "libattr1", "libgmp10"),
    *("libselinux1", "libpcre2-8-0"),
)
_UNNEEDED: Final = (
    "usr/share",
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/aarch64-linux-gnu/gconv",
)
_NOT_OF_SPARK: Final = ("examples", "licenses", "tests", "data", "__pycache__")
_ENTRYPOINT: Final = r"""#!/bin/bash
export SPARK_HOME=/opt/spark PYTHONPATH=/opt/python PYSPARK_PYTHON=python3 HOME=/tmp
export PATH=$SPARK_HOME/bin:/usr/bin:/bin JAVA_HOME=/usr/lib/jvm/java
case "$1" in
executor)
  # Each option of the driver's is a variable of its own.
  readarray -t options < <(env | grep '^SPARK_JAVA_OPT_' | sort -t_ -k4 -n | sed 's/[^=]*=//')
  exec /usr/bin/java "${options[@]}" -Xms"$SPARK_EXECUTOR_MEMORY" -Xmx"$SPARK_EXECUTOR_MEMORY" \
    -cp "$SPARK_HOME/jars/*" org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" \
    --cores "$SPARK_EXECUTOR_CORES" --app-id "$SPARK_APPLICATION_ID" \
    --hostname "$SPARK_EXECUTOR_POD_IP" --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
    --podName "$SPARK_EXECUTOR_POD_NAME" ;;
driver)
  shift
  exec spark-submit --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
    --deploy-mode client "$@" ;;
*) exec "$@" ;;
esac
"""


def reference() -> str:
    """The image's full name; another one when its recipe changes."""
    recipe = repr((_PACKAGES, _UNNEEDED, _NOT_OF_SPARK, _ENTRYPOINT)).encode()
    recipe += _LOCK.read_bytes() + _JOBS.read_bytes()
    return f"{NAME}:{hashlib.sha256(recipe).hexdigest()[:12]}"


def archive(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the image's file is, or will be."""
    return cache_root(environment) / "images" / f"spark-{reference().rpartition(':')[2]}.tar"


def make(target: Path) -> None:
    """Make the image's file.

    Raises:
        Trouble: if Debian's packages are out of reach.

    """
    with unpacked(target, "spark", _PACKAGES, _UNNEEDED) as (root, unfinished):
        _add_spark(root)
        write_image(root, reference(), ["spark-submit", JOBS], unfinished, ["/opt/entrypoint.sh"])


def _add_spark(root: Path) -> None:
    (packages,) = (environment_of("spark") / "lib").glob("python3*/site-packages")
    (java,) = (root / "usr/lib/jvm").glob("java-17-openjdk-*/bin/java")
    (root / "usr/bin/java").symlink_to(f"/{java.relative_to(root)}")
    (root / "usr/lib/jvm/java").symlink_to(java.parent.parent.name)
    (root / "usr/bin/python3").symlink_to("python3.11")
    unneeded = shutil.ignore_patterns(*_NOT_OF_SPARK)
    shutil.copytree(packages / "pyspark", root / "opt/python/pyspark", ignore=unneeded)
    shutil.copytree(packages / "py4j", root / "opt/python/py4j", ignore=unneeded)
    (root / "opt/spark").symlink_to("python/pyspark")
    shutil.copyfile(_JOBS, root / JOBS.lstrip("/"))
    script = root / "opt/entrypoint.sh"
    script.write_text(_ENTRYPOINT)
    script.chmod(0o755)
    (root / "tmp").mkdir(mode=0o777, exist_ok=True)
    # Java and Hadoop ask who runs them.
    (root / "etc/passwd").write_text("root:x:0:0:root:/tmp:/bin/bash\n")


def require() -> Path:
    """The image's file, made if it is not there yet."""
    target = archive()
    if not target.exists():
        print("making the image with Spark: PyPI and Debian; once, some minutes", file=sys.stderr)
        make(target)
    return target


if __name__ == "__main__":
    require()
