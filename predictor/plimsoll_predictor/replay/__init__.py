"""Plays past runs again in the order of time, by rules that never look ahead.

``sizes``: what a policy would have wasted. ``runtimes``: how well runtimes would have been
forecast. ``lending``: what lending would have brought. ``growth``: how memory is assumed to grow.
In: past runs. Out: figures. May import: the standard library.
"""
