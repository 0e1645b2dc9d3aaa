"""Tests of grpc."""
