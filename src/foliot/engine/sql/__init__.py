"""Tables and statements of the engine."""
