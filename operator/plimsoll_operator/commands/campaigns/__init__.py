"""Commands about profiling campaigns: create, watch, stop, report, page, airflow.

In: a file or a name. Out: a ProfilingCampaign or DAG runs, what they do, what they found out.
May import: ``campaigns``, ``airflow_api``, ``credentials.token_file``, ``kube``, ``views``,
``web.campaign``, ``web.report``, ``commands.printing``, ``commands.reaching``, the store.
"""
