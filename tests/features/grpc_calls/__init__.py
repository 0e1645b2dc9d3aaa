"""Tests of grpc calls."""
