"""Past runs played again, in the order of time, by rules that never look ahead.

``sizes``: what a policy would have wasted. ``runtimes``: how well runtimes would have been
forecast.
"""
