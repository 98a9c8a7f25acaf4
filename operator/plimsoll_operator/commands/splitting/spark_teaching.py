"""``plimsoll spark --teach``: what an application's log teaches, written in its TaskProfile.

It is a field of the policy like any other: people see it, change it and remove it, and admission
hears of it as of all policies.
"""

from __future__ import annotations

import asyncio

from plimsoll_operator.commands.modes.policy_writing import Target, spec_of, write_spec
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.sizes.policies_in_force import policy_and_reached
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.pods.spec import mapping
from plimsoll_predictor.core.policy import Policy, Replaceable
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.spark.application import Application
from plimsoll_predictor.splitting.spark.given import Lesson, lesson_of


def teach(task: str, installation: Installation, application: Application) -> str:
    """Write what the log teaches for the driver's task; return it in words.

    Raises:
        ValueError: if the task has another form than ``namespace/name``.
        ApiError: if the TaskProfile cannot be read or written.
    """
    return asyncio.run(_teach(Target.of(task, None), installation, application))


async def _teach(target: Target, installation: Installation, application: Application) -> str:
    async with cluster_objects(installation) as objects:
        lesson = await _lesson(objects, TaskId.parse(str(target.task)), installation, application)
        before = mapping((await spec_of(objects, target)).get("spark")).get("partitions")
        if before != lesson.partitions:
            # The rest of the field stays as it is, for example its mode.
            await write_spec(objects, target, {"spark": {"partitions": lesson.partitions}})
    written = "" if lesson.partitions is None else f"spec.spark.partitions is {lesson.partitions}: "
    return f"{target.task}: {written}{lesson.why}"


async def _lesson(
    objects: ApiServer, task: TaskId, installation: Installation, application: Application
) -> Lesson:
    """The lesson for the task's policy, which is read only if it makes a difference."""
    lesson, beyond = lesson_of(application), lesson_of(application, tuple(Replaceable))
    if lesson == beyond:
        return lesson
    own_namespace = installation.installed_in or ControllerSettings().namespace
    policy, _ = await policy_and_reached(objects, task, (Policy(), own_namespace))
    if policy.spark.replaces:
        return beyond
    hint = f"; spark.replaces in a policy allows it ({beyond.why})" if beyond.partitions else ""
    return Lesson(lesson.partitions, f"{lesson.why}{hint}")
