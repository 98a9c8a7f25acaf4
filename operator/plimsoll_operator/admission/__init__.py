"""The webhook: answers the API server from memory, and always admits.

In: an AdmissionReview. Out: a JSON patch or nothing, within milliseconds.
May import: ``feed``, ``metrics.process`` and ``.quiet_log``, ``sizing``, ``pods``, ``names`` and
the predictor. It never imports a trainer's library, the store or the API client.
"""
