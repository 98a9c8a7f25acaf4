"""Records of attempts: observations, sightings, peaks, decisions, lifts, retries.

One module per table or two; each function works within the caller's transaction.
May import: ``store.database``, ``core``.
"""
