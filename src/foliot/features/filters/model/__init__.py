"""The filter language: tokens, terms and keys, and the results of counting."""
