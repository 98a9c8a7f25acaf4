"""Large numbers: observations, models, trainings, pods that end, readers of the page.

``make bench-scale`` runs ``million.py``, ``make bench-trainings`` runs ``trainings.py``, ``make
bench-watch`` runs ``watch.py`` on the local cluster: each has keys of its own in bench-scale.json
(``results_file.py``). ``page.py`` is run by hand, and prints. May import: ``admission``,
``scheduling``, Plimsoll, ``tests``, ``deploy``.
"""
