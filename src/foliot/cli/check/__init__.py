"""What `foliot check` examines, a module per subject."""
