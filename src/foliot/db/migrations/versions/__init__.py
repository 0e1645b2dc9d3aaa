"""Each file is one step; none is changed once released."""
