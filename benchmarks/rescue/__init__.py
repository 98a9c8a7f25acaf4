"""Growing tasks on the real node, without rescue and with it, and how soon a limit is raised.

``make bench-rescue`` runs ``node.py``, which writes bench-rescue.json; ``picture.py`` draws that
file for docs/rescue.md. May import: ``real_node``, Plimsoll, ``tests``.
"""
