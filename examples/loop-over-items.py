"""Does this pod's share of a Job's items: see job-over-items.yaml.

It needs ``plimsoll_chunks.py`` beside it, which needs Python alone.
"""

import plimsoll_chunks

for item in plimsoll_chunks.items():
    print(f"item {item}")
