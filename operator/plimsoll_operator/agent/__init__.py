"""The agent: measures the memory of each pod on its node and tells the controller.

It reads cgroups and posts reports; it needs no access to the API server.
"""

from plimsoll_operator.agent.serving import serve
from plimsoll_operator.agent.settings import AgentSettings, SettingsError

__all__ = ["AgentSettings", "SettingsError", "serve"]
