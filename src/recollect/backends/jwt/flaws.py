"""What can be wrong with a token; a closed set of words that give nothing of the token away."""

from __future__ import annotations

from enum import StrEnum


class Flaw(StrEnum):
    """Why a token is refused. Words are added, never renamed."""

    MALFORMED = "malformed"
    """It is not three parts of base64url with two JSON objects in them, or it is too long."""
    HEADER = "header"
    """Its header asks for something that is not done here."""
    ALGORITHM = "algorithm"
    """It is signed in a way that is not allowed, or that does not suit the key."""
    KEY = "key"
    """It names a key that the issuer does not have, or none where there are several."""
    UNAVAILABLE = "unavailable"
    """The issuer's keys cannot be had at the moment."""
    SIGNATURE = "signature"
    """The signature is not by that key over this text."""
    CLAIMS = "claims"
    """A claim is missing, or is not what it must be."""
    ISSUER = "issuer"
    """Somebody else issued it."""
    AUDIENCE = "audience"
    """It is meant for somebody else."""
    EXPIRED = "expired"
    """Its time is over."""
    EARLY = "early"
    """Its time has not come, or it was issued in the future."""


class Refused(Exception):
    """A token is not to be trusted, for this flaw."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.value)
        self.flaw = flaw
