"""The file that defines pipelines: read with bounds, and with the place of everything that is wrong."""
