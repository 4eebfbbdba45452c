"""JSON web tokens: callers that somebody else's service has recognised."""

from recollect.backends.jwt.options import JwtOptions
from recollect.backends.jwt.verifier import JwtVerifier, jwt_verifier

__all__ = ["JwtOptions", "JwtVerifier", "jwt_verifier"]
