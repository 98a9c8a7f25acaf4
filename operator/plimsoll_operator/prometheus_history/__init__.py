"""Past pods of tasks from what a Prometheus kept of kube-state-metrics and cAdvisor."""
