"""What chunks of Jobs over items took: learned from the store, told to admission.

In: attempts that ended, and the store. Out: what is known of each task's chunks, in the feed.
May import: ``controller.hub``, ``feed``, ``names``, the predictor.
"""
