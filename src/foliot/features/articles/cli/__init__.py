"""`foliot articles …`."""
