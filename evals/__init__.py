"""How often the checks are right: measured against people's labels, recomputed by anyone who has the data."""
