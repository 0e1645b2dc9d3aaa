"""Pure rules and types that every layer uses: no I/O, no clock, no framework."""
