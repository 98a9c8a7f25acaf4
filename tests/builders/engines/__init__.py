"""Pods as workflow engines make them, run after run. Each file says where its facts come from."""
