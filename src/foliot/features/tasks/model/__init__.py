"""Tasks, their signatures, the context they receive, and the catalogue of a process."""
