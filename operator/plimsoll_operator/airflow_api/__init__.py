"""An Airflow's REST API: who asks, a DAG looked up, a run triggered and followed.

In: the address of an Airflow 3, and credentials. Out: states of DAG runs, as Airflow names them.
May import: ``credentials.http_session``, ``names``, aiohttp.
"""
