"""The commands of `plimsoll`, one module each."""
