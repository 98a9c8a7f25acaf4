"""Past runs played again in time order: what a policy would have wasted, and how often failed."""
