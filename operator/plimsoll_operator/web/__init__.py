"""What people look at in a browser: plots, the page, the report and the replay's page.

May import: ``views``, ``wording`` and the predictor.
"""
