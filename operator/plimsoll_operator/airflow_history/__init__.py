"""A task's past from Airflow's metadata database: its runs, their times, ends and requests.

In: the database's address. Out: observations of the tries of tasks that ran as pods. May import:
SQLAlchemy.
"""
