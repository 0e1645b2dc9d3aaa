"""Errors of a service that does answer, as a tree.

ServiceError
├── NoReflection           it has no server reflection
├── BadDescriptors         its descriptors cannot be read, or are too large
├── BadAnswer              an answer is not the method's response message
└── ServiceAnswerTooLarge  the answer is larger than a run's result may be

All are permanent: an attempt that meets one is not retried.
"""

from __future__ import annotations


class ServiceError(Exception):
    """The message is a sentence that begins with the service's name."""

    code = "trouble"


class NoReflection(ServiceError):
    """The service has no server reflection."""

    code = "no_reflection"

    def __init__(self) -> None:
        super().__init__("has no server reflection, by which its methods and messages are found; switch it on there")


class BadDescriptors(ServiceError):
    """The service's descriptors cannot be read, or are too large."""

    code = "bad_descriptors"

    def __init__(self, what: str) -> None:
        super().__init__(f"describes itself by reflection in a way that cannot be read: {what}")


class BadAnswer(ServiceError):
    """An answer is not the method's response message."""

    code = "bad_answer"

    def __init__(self, what: str) -> None:
        super().__init__(f"answered OK, but {what}")


class ServiceAnswerTooLarge(ServiceError):
    """The answer is larger than a run's result may be."""

    code = "answer_too_large"

    def __init__(self, what: str) -> None:
        super().__init__(f"answered too much: {what}")
