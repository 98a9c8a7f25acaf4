"""Commands about profiling campaigns: create, watch, stop, report.

In: a file or a name. Out: a ProfilingCampaign, what it does, what it found out.
May import: ``campaigns``, ``kube``, ``commands.printing``, ``commands.reaching``, the store.
"""
