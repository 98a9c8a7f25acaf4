"""The controller: sees pods, judges their ends, heals, learns, and tells people and admission.

``building`` puts its parts together; ``watching`` is what kopf's handlers call; ``hub`` carries
what happened from part to part. docs/architecture.md draws one pod's way through it.

In: events of pods, nodes and policies; peaks. Out: observations, lifts, retries, profiles, the
feed. May import: all but ``processes``, ``commands`` and ``cli``. Each of its folders may import
those before it: ``hub``, ``tasks``, ``learning``, ``runtimes``, ``announcing``, ``placing``,
``profiles``, ``attempts``, ``lending``. The others import these, but not each other:
``campaigns``, ``ordering``, ``rescue``, ``serving``, ``splitting``, ``training_rounds``,
``waiting``.
"""
