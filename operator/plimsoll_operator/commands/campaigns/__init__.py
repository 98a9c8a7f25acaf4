"""Commands about profiling campaigns: create, watch, stop, report, page.

In: a file or a name. Out: a ProfilingCampaign, what it does, what it found out.
May import: ``campaigns``, ``kube``, ``views``, ``web.campaign``, ``web.report``,
``commands.printing``, ``commands.reaching``, the store.
"""
