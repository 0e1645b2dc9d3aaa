"""Where people and programs come in. A door parses, asks one use case, and renders."""
