"""What can be wrong with a service that does answer, as a tree.

Trouble
├── NoReflection    it does not say what it can do
├── BadDescriptors  what it says of itself cannot be read, or is too much
├── BadAnswer       what came back is not the message that the method answers
└── TooLarge        the answer is more than a run keeps

None of them passes by itself: an attempt that meets one is not repeated.
"""

from __future__ import annotations


class ServiceError(Exception):
    """The message is a sentence that begins with the service."""

    code = "trouble"


class NoReflection(ServiceError):
    """The service does not say what it can do."""

    code = "no_reflection"

    def __init__(self) -> None:
        super().__init__("has no server reflection, by which its methods and messages are found; switch it on there")


class BadDescriptors(ServiceError):
    """What the service says of itself cannot be read, or is too much."""

    code = "bad_descriptors"

    def __init__(self, what: str) -> None:
        super().__init__(f"describes itself by reflection in a way that cannot be read: {what}")


class BadAnswer(ServiceError):
    """What came back is not the message that the method answers."""

    code = "bad_answer"

    def __init__(self, what: str) -> None:
        super().__init__(f"answered OK, but {what}")


class ServiceAnswerTooLarge(ServiceError):
    """The answer is more than a run keeps."""

    code = "answer_too_large"

    def __init__(self, what: str) -> None:
        super().__init__(f"answered too much: {what}")
