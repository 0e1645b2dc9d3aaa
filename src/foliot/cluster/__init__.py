"""Transport to workers on other machines, and pools of processes that can be killed."""
