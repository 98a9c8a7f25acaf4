"""How a command reaches the cluster, the leading controller's pod and the store.

In: a kubeconfig, a context, a namespace, a store's URL. Out: objects, an open store, or another
command's output from inside the controller's pod.
May import: ``kube``, ``commands.printing``, ``web.report.writing`` and the predictor's store.
"""
