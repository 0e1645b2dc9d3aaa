"""One attempt of a run: its log, its end, and what came back without an answer."""
