"""How what the controller knows reaches admission: a long-polled list of changes."""
