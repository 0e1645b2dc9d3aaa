"""`foliot schedule …`."""
