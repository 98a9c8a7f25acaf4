"""``plimsoll spark --teach``: what an application's log teaches, written in its TaskProfile.

There it is a field of the policy like any other: people see it, change it and remove it, and
admission hears of it as of all policies.
"""

from __future__ import annotations

import asyncio

from plimsoll_operator.commands.modes.policy_writing import Target, spec_of, write_spec
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.pods.spec import mapping
from plimsoll_predictor.splitting.spark.application import Application
from plimsoll_predictor.splitting.spark.given import lesson_of

_DRIVER = ".driver"


def teach(task: str, installation: Installation, application: Application) -> str:
    """Write what the log teaches for the driver's task; return it in words.

    Raises:
        ValueError: if the task has another form than ``namespace/name``.
        ApiError: if the TaskProfile cannot be read or written.
    """
    return asyncio.run(_teach(Target.of(task, None), installation, application))


async def _teach(target: Target, installation: Installation, application: Application) -> str:
    lesson = lesson_of(application)
    async with cluster_objects(installation) as objects:
        before = mapping((await spec_of(objects, target)).get("spark")).get("partitions")
        if before != lesson.partitions:
            # Nothing else of the field is touched, such as its mode.
            await write_spec(objects, target, {"spark": {"partitions": lesson.partitions}})
    written = "" if lesson.partitions is None else f"spec.spark.partitions is {lesson.partitions}: "
    return f"{target.task}: {written}{lesson.why}"
