"""Translation of other schedulers entries; reads texts, no files."""
