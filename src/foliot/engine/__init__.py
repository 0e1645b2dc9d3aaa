"""The engine: fires schedules and executes runs, by small actors that one loop drives."""
