"""Requests and answers about watches."""
