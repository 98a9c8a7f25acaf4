"""Debian's buildah, with its own storage in the cache folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.local.shell import PATH, run, try_run
from deploy.local.trouble import Trouble


@dataclass(frozen=True, slots=True)
class Buildah:
    """A builder that needs no service.

    storage: layers and images; kept, so that unchanged steps are not built again.
    driver: ``overlay``, or ``vfs`` if overlays cannot be stacked.
    environment: of the caller, for its proxy settings.
    """

    storage: Path
    driver: str
    environment: Mapping[str, str]

    def has_image(self, reference: str) -> bool:
        """Whether the storage has this image."""
        return (
            try_run(self._alone([*self._base(), "inspect", "--type=image", reference])) is not None
        )

    def works(self) -> bool:
        """Whether this storage driver can be used here."""
        return try_run(self._alone([*self._base(), "images"])) is not None

    def commit(self, archive: Path, reference: str) -> None:
        """Make an image of one layer out of a tar archive of a root folder."""
        doing = f"making {reference}"
        container = self.alone([*self._base(), "from", "scratch"], doing=doing).strip()
        self.alone([*self._base(), "add", "--quiet", container, archive, "/"], doing=doing)
        self.alone([*self._base(), "config", "--cmd", "python3", container], doing=doing)
        self.alone([*self._base(), "commit", "--quiet", "--rm", container, reference], doing=doing)

    def build(self, context: Path, options: Sequence[str], archive: Path, reference: str) -> None:
        """Build an image from the Dockerfile in a folder, and write it to a file.

        Raises:
            Trouble: with the end of the build's output.

        """
        words = ["build", "--layers", "--isolation=chroot", "--network=host", "--pull-never"]
        log = archive.with_name("build.log")
        command = [
            *self._base(),
            *words,
            f"--logfile={log}",
            *options,
            "--tag",
            reference,
            str(context),
        ]
        try:
            self.alone(command, doing=f"building {reference}")
        except Trouble as trouble:
            raise Trouble(f"{trouble}; all that was said is in {log}") from None
        log.unlink(missing_ok=True)
        self.alone(
            [*self._base(), "push", "--quiet", reference, f"docker-archive:{archive}:{reference}"],
            doing=f"writing {archive}",
        )

    def forget_others(self, reference: str) -> None:
        """Remove older images of the same name; layers that are still used stay."""
        name = reference.rpartition(":")[0] + ":"
        listed = try_run(self._alone([*self._base(), "images", "--format", "{{.Name}}:{{.Tag}}"]))
        for other in set((listed or "").split()) - {reference}:
            if other.startswith(name):
                try_run(self._alone([*self._base(), "rmi", other]), timeout_s=120.0)

    def prune(self) -> None:
        """Remove containers that a killed build left behind."""
        try_run(self._alone([*self._base(), "rm", "--all"]))

    def alone(self, argv: Sequence[str | Path], *, doing: str) -> str:
        """Run in process and mount namespaces that end with it: a kill leaves no mount behind."""
        return run(self._alone(argv), doing=doing, environment=self._settings())

    def _base(self) -> list[str]:
        root = ["--root", str(self.storage), "--runroot", str(self.storage / "run")]
        return ["buildah", *root, "--storage-driver", self.driver]

    @staticmethod
    def _alone(argv: Sequence[str | Path]) -> list[str | Path]:
        own_namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return ["setpriv", "--pdeathsig", "KILL", *own_namespaces, *argv]

    def _settings(self) -> dict[str, str]:
        proxies = {k: v for k, v in self.environment.items() if k.lower().endswith("_proxy")}
        return {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", **proxies}


def a_buildah(storage: Path, environment: Mapping[str, str]) -> Buildah:
    """Choose the fastest storage driver that works here.

    Raises:
        Trouble: if none works.

    """
    storage.mkdir(parents=True, exist_ok=True)
    for driver in ("overlay", "vfs"):
        buildah = Buildah(storage / driver, driver, environment)
        buildah.storage.mkdir(exist_ok=True)
        if buildah.works():
            return buildah
    raise Trouble(f"buildah can keep no images in {storage}; see `buildah images` there")
