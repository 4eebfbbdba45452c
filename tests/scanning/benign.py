"""Plain lines such as memories are made of, many of them with numbers and tokens that are no secrets."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_NAMES = ("Alice", "Bob", "Maria", "Jürgen", "Chloé", "Haruto", "Priya", "Tomasz", "Ines", "Olu")
_THINGS = ("green tea", "the quarterly report", "a standing desk", "dark mode", "jazz", "the 3D printer", "sk-learn")
_PLACES = ("Berlin", "São Paulo", "東京", "Lisbon", "the main office", "Room 101", "Terminal 5")
_PROJECTS = ("billing-service", "atlas", "recollect", "web/frontend", "ml-pipeline-v2", "infra_core")
_HEX = "0123456789abcdef"


def _hex(chance: Random, count: int) -> str:
    return "".join(chance.choices(_HEX, k=count))


def _number(chance: Random, count: int) -> str:
    return "".join(chance.choices("0123456789", k=count))


def _uuid(chance: Random) -> str:
    return "-".join(_hex(chance, each) for each in (8, 4, 4, 4, 12))


def _version(chance: Random) -> str:
    return ".".join(str(chance.randrange(20)) for _ in range(chance.choice((2, 3, 3, 4))))


_SLOTS: dict[str, Callable[[Random], str]] = {
    "name": lambda chance: chance.choice(_NAMES),
    "thing": lambda chance: chance.choice(_THINGS),
    "place": lambda chance: chance.choice(_PLACES),
    "project": lambda chance: chance.choice(_PROJECTS),
    "day": lambda chance: f"20{chance.randint(10, 29)}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}",
    "time": lambda chance: f"{chance.randrange(24):02d}:{chance.randrange(60):02d}:{chance.randrange(60):02d}",
    "count": lambda chance: str(chance.randint(2, 9_999)),
    "price": lambda chance: f"{chance.randint(1, 9999):,}.{chance.randrange(100):02d}",
    "sha": lambda chance: _hex(chance, 40),
    "short_sha": lambda chance: _hex(chance, 8),
    "digest": lambda chance: _hex(chance, 64),
    "uuid": _uuid,
    "version": _version,
    "order": lambda chance: _number(chance, chance.choice((6, 8, 10, 12))),
    "ticket": lambda chance: f"{chance.choice(('OPS', 'WEB', 'ML'))}-{chance.randint(1, 9999)}",
    "isbn": lambda chance: f"978-3-16-{_number(chance, 6)}-{_number(chance, 1)}",
    "private_ip": lambda chance: f"192.168.{chance.randrange(256)}.{chance.randrange(256)}",
    "colour": lambda chance: "#" + _hex(chance, 6),
    "slug": lambda chance: "-".join(
        chance.sample(("how", "to", "write", "safe", "tests", "with", "small", "steps"), 4)
    ),
    "decimal": lambda chance: f"{chance.random():.12f}",
}
LINES = (
    "{name} prefers {thing} over everything else",
    "{name} moved to {place} on {day}",
    "The meeting with {name} is at {time} in {place}",
    "Deployed {project} {version} at {time}, took {count} ms",
    "Commit {sha} broke the build of {project}",
    "Fixed by {short_sha}, see {ticket}",
    "sha256:{digest} is the digest of the image",
    "The trace id was {uuid}",
    "session {uuid} had {count} turns",
    "Order {order} was delivered on {day}",
    "Invoice no. {order} over {price} EUR is paid",
    "{name} uses a password manager and changes the passwords every {count} days",
    "The password is stored in the vault, not in the repository",
    "The password is wrong, said {name}",
    "password: required",
    "Password must be at least 12 characters",
    "Never ask {name} for a password or an API key",
    "The token budget is {count}",
    "The API key is kept in the environment of {project}",
    "Read the token from ${{TOKEN}} in {project}",
    "export API_KEY=$PROD_API_KEY before running {project}",
    "password = os.environ['DB_PASSWORD']",
    "postgresql://app:${{DB_PASSWORD}}@db.internal/app is the form of the URL",
    "api_key: <your-api-key>",
    "The secret of good tea is patience, says {name}",
    "The key to {place} hangs beside the door",
    "primary key: order_id, sort key: created_at",
    "cache key = user:profile:{count}",
    "Use version {version} of the library, not {version}",
    "The printer is at {private_ip}",
    "localhost is 127.0.0.1 and listens on port {count}",
    "See https://example.com/blog/{day}/{slug}?page={count}",
    "https://github.com/acme/{project}/blob/{sha}/src/main.py",
    "The file is src/{project}/Handlers/RequestHandler2.py, line {count}",
    "{name} ran {count} km in {time}",
    "The room is {decimal} wide and costs {price} a month",
    "Coordinates: 52.520008, 13.404954",
    "ISBN {isbn} is the book that {name} reads",
    "The theme uses {colour} and {colour}",
    "Chapter 4.2.1.7 explains {thing}",
    "{name} was born in 1985 and has {count} followers",
    "2 Big Macs and 3 coffees, as always, for {name}",
    "The class names are sk-button-primary-large-rounded and sk-fading-circle-container",
    "pip install {project}=={version}",
    "{name} read 3 chapters of Main Street in {place}",
    "The hash of the empty string is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "Reminder: renew the passport before {day}",
    "{name} called about {ticket} at {time}",
    "The bearer of this letter is {name}",
    "basic knowledge of {thing} is enough",
    "Train ICE {count} leaves at {time} from platform 7",
    "The id of the message is msg_{short_sha}{short_sha}",
    "@{name} asked in #general about {thing}",
    "Score 0.{order}, rank {count} of {order}",
    "The customer is customer:cus_77 and the tenant tenant_acme_prod",
    "Step {count}: authenticate, then call GET /v1/memories/{uuid}",
    "The auth: OAuth with PKCE, token: short-lived",
    "SELECT count(*) gave {order} rows in {project}",
    "{name}'s favourite number is {count}, her second {order}",
    "Build {order} of {project} passed at {day}T{time}Z",
)


def line(chance: Random) -> str:
    """One plain line."""
    filled = {name: draw(chance) for name, draw in _SLOTS.items()}
    return chance.choice(LINES).format(**filled)
