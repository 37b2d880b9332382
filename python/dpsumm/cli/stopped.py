"""A command that was interrupted."""


class Interrupted(BaseException):
    """As `KeyboardInterrupt`, which Click would report in its own way; with what is left to say."""
