"""Words that everything else uses: task, observation, policy, decision, units. Pure.

In and out: frozen records. May import: numpy.
"""
