"""Commands that import and export past runs, and replay them.

import, export, replay, traces. In: files, a Prometheus or the store. Out: files or rows.
May import: ``prometheus_history``, ``web.replay``, ``commands.printing``, ``commands.reaching``.
"""
