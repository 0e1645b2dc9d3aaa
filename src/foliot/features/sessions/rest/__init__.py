"""Routes of sessions and stream tickets."""
