"""What a schedule can do: one room per kind."""
