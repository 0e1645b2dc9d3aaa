"""Builds and runs the chain of a pipeline: catalogue of transforms, step context, streaming."""
