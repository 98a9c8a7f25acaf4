"""A task's past from Airflow's metadata database: what ran, when, how it ended, what it asked for.

In: the database's address. Out: observations of the tries of tasks that ran as pods. May import:
SQLAlchemy.
"""
