"""Settings: each with its default and its meaning, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from recollect.config.secret import Secret
from recollect.domain.address import DEPTH_CEILING, MAX_DEPTH
from recollect.domain.attributes import is_name
from recollect.domain.errors import InvalidSetting
from recollect.domain.retention import Retention
from recollect.domain.tuning import TUNABLE, checked_tuning
from recollect.domain.words import checked_language

_DAY = 86_400


_LEVELS = ("debug", "info", "warning", "error")
_ALGORITHMS = frozenset({"HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}) | frozenset(
    {"ES256", "ES384", "ES512", "EdDSA"}
)
_NO_ATTRIBUTES: tuple[str, ...] = ()


def _setting(default: Any, meaning: str, *, live: bool = False) -> Any:
    """A setting with its meaning; a live one can change while the service runs."""
    return field(default=default, metadata={"meaning": meaning, "live": live})


@dataclass(frozen=True, slots=True)
class Settings:
    """How a store is opened and served. Every field has a default that is safe to keep."""

    store: Secret | None = _setting(  # noqa: RUF009 - it makes a field, like all others
        None,
        "Where the memories are kept: `postgresql://…` or `mongodb://…` for a database on a server, `sqlite:///…` for "
        "a file of another name; None: in the data directory. The master key and settings stay there in any case.",
    )
    max_depth: int = _setting(MAX_DEPTH, f"How many segments a namespace may have; 1 to {DEPTH_CEILING}.", live=True)
    filterable_attributes: tuple[str, ...] = _setting(
        _NO_ATTRIBUTES,
        "Names of attributes that are kept in plain text beside the sealed ones, so that filters can ask for them.",
        live=True,
    )
    policy_engine: str = _setting(
        "rego",
        "What decides: `rego`, in the service itself; `opa`, an OPA server at `opa_url`; or `builtin`, the plain rule "
        "that everybody has their own subtree and administrators everything.",
    )
    policy_dir: str | None = _setting(
        None, "A directory of Rego modules that replace the built-in policy, followed whenever they change."
    )
    policy_processes: int = _setting(1, "How many processes evaluate policies; 1 to 16.")
    tenant_policies: bool = _setting(
        True, "Whether administrators may give their tenant a policy of its own.", live=True
    )
    require_justification: bool = _setting(
        False, "Whether administrators must say why they read what is not their own.", live=True
    )
    opa_url: str | None = _setting(None, 'Where the OPA server is, for `policy_engine = "opa"`; https, or on loopback.')
    opa_token: Secret | None = _setting(None, "What Recollect shows to the OPA server, if that asks for a token.")  # noqa: RUF009 - it makes a field, like all others
    opa_seconds: float = _setting(
        1.0, "How long the OPA server may take for an answer; without one, nothing is allowed."
    )
    keep_superseded_seconds: int | None = _setting(
        90 * _DAY,
        "How long the values of replaced versions stay readable in `history` and `as_of`; None: for ever.",
        live=True,
    )
    keep_deleted_seconds: int | None = _setting(
        0, "How long the values of deleted and expired versions are kept; 0: until the next sweep.", live=True
    )
    keep_tombstones_seconds: int | None = _setting(
        90 * _DAY,
        "How long it stays known that a key once existed, after its value is gone; None: for ever.",
        live=True,
    )
    keep_events_seconds: int | None = _setting(
        None, "How long events are kept; None: for ever. Older cursors then get a clear error.", live=True
    )
    keep_traces_seconds: int | None = _setting(
        90 * _DAY,
        "How long it is kept what was decided about memories and why, and what a replay of a session needs; "
        "None: for ever.",
    )
    keep_receipts_seconds: int | None = _setting(
        _DAY, "How long a repeated request with the same idempotency key is recognised.", live=True
    )
    master_key_command: str | None = _setting(
        None, "A command that prints the master key (32 bytes in hexadecimal or base64), instead of a key file."
    )
    previous_master_key_command: str | None = _setting(
        None, "A command that prints the master key before, while data keys are re-wrapped with the new one."
    )
    reader_threads: int = _setting(2, "How many threads read for an event loop; 1 to 64.")
    group_size: int = _setting(512, "How many commits may share one wait for the disk; 1 to 10,000.")
    busy_seconds: float = _setting(30.0, "How long to wait for another process that is writing.")
    host: str = _setting(
        "127.0.0.1", "The address to listen on. Beyond loopback, TLS is needed, or `allow_plain_http`."
    )
    port: int = _setting(4747, "The port to listen on; the next free one is taken when it is in use. 0: any free one.")
    grpc_port: int | None = _setting(
        None,
        "The port of the gRPC door, at the same address and with the same TLS; the next free one is taken when it is "
        "in use. 0: any free one. None: there is no gRPC door. It needs `recollect[grpc]`.",
    )
    verified_tools: tuple[str, ...] = _setting(
        (), "The names of tools that are known to be right about what they return, so that it is taken for verified."
    )
    mcp_hosts: tuple[str, ...] = _setting(
        (),
        "The names, with or without a port, by which clients reach the MCP door at `/mcp`, beside loopback and `host`.",
        live=True,
    )
    mcp_origins: tuple[str, ...] = _setting(
        (), "The pages, like `https://chat.example.com`, that may speak to the MCP door from a browser.", live=True
    )
    allow_plain_http: bool = _setting(
        False, "Listen beyond loopback without TLS, because something in front of the service does the encryption."
    )
    tls_certificate: str | None = _setting(None, "The file of the TLS certificate chain (PEM).")
    tls_key: str | None = _setting(None, "The file of the TLS private key (PEM).")
    max_body_bytes: int = _setting(4 << 20, "How many bytes the body of a request may have.", live=True)
    body_seconds: float = _setting(15.0, "How long a client may take to send the body of a request.", live=True)
    request_seconds: float = _setting(30.0, "How long the answer to a request may take.", live=True)
    max_connections: int = _setting(1_000, "How many requests may be under way at once; more are told to come back.")
    rate_per_second: float = _setting(
        5_000.0,
        "How many requests a second one credential may make on average, in one process; 0: no limit.",
        live=True,
    )
    failures_per_second: float = _setting(
        20.0, "How many requests a second without a valid credential are answered per address; 0: no limit.", live=True
    )
    shutdown_seconds: float = _setting(20.0, "How long to wait for requests under way when the service is stopped.")
    sweep_seconds: float = _setting(60.0, "How often what has expired or is no longer kept is swept away.", live=True)
    index_seconds: float = _setting(
        30.0,
        "How often it is looked whether something is to be indexed or extracted anew, if nothing says so.",
        live=True,
    )
    index_batch: int = _setting(100, "How many items are indexed at once; 1 to 1,000.", live=True)
    usage_importance: int = _setting(
        0,
        "By how much the importance of a memory may grow with use when recall ranks it, 0 to 10: every power of ten of "
        "loads adds 1, up to this. 0 means that use changes nothing.",
        live=True,
    )
    curator: bool = _setting(
        False,
        "Whether the memories of conversations are curated by themselves, daily and whenever there are 25 new ones. It "
        "can be undone, but it changes what is recalled without anybody asking, so it is off unless it is wanted.",
        live=True,
    )
    embedder: str = _setting(
        "local",
        "What makes the vectors for search by meaning: `local`, a model in the service itself; `openai`, a server that "
        "speaks OpenAI's protocol, at `embedder_url`; `hashing`, without any understanding; or `none`.",
    )
    embedder_url: str | None = _setting(
        None, "Where the server for `embedder = openai` is, up to `/v1`; https, or on loopback."
    )
    embedder_model: str | None = _setting(None, "The model that this server is asked for.")
    embedder_key: Secret | None = _setting(None, "What Recollect shows to this server, if it asks for a key.")  # noqa: RUF009 - it makes a field, like all others
    embedder_dimension: int | None = _setting(
        None, "How many numbers a vector has, if the model lets one choose, or for `hashing`; 8 to 8,192."
    )
    embedder_seconds: float = _setting(30.0, "How long the server may take for an answer.")
    embedder_batch: int = _setting(32, "How many texts are embedded at once; 1 to 2,048.")
    embedder_threads: int = _setting(0, "How many threads the local model uses; 0: as many as there are, up to 4.")
    model_dir: str | None = _setting(None, "A directory with the files of the local model, instead of those that ship.")
    extractor: str = _setting(
        "rules",
        "What finds in a passage what is worth remembering: `rules`, known patterns in the service itself; or `llm`, a "
        "model at `extractor_url`, for which the rules stand in when it does not answer as it should.",
    )
    extractor_url: str | None = _setting(
        None,
        "Where the server for `extractor = llm` is, up to `/v1`; https, or on loopback. It speaks OpenAI's protocol "
        "for chat completions, with JSON schemas.",
    )
    extractor_model: str | None = _setting(None, "The model that this server is asked for.")
    extractor_key: Secret | None = _setting(None, "What Recollect shows to this server, if it asks for a key.")  # noqa: RUF009 - it makes a field, like all others
    extractor_seconds: float = _setting(
        20.0, "How long one passage may take, with all repetitions, before the rules stand in."
    )
    extractor_attempts: int = _setting(3, "How often the server is asked about one passage at most; 1 to 10.")
    extractor_tokens: int = _setting(1_024, "How many tokens an answer may have; 64 to 16,384.")
    summarizer: str = _setting(
        "extractive",
        "What makes summaries of conversations: `extractive`, their own most telling sentences, in the service itself; "
        "or `llm`, a model at `summarizer_url`, for which the extractive one stands in when it does not answer as it "
        "should.",
    )
    summarizer_url: str | None = _setting(
        None,
        "Where the server for `summarizer = llm` is, up to `/v1`; https, or on loopback. It speaks OpenAI's protocol "
        "for chat completions, with JSON schemas.",
    )
    summarizer_model: str | None = _setting(None, "The model that this server is asked for.")
    summarizer_key: Secret | None = _setting(None, "What Recollect shows to this server, if it asks for a key.")  # noqa: RUF009 - it makes a field, like all others
    summarizer_seconds: float = _setting(
        2.5, "How long one summary may take, with all repetitions, before the extractive one stands in."
    )
    summarizer_attempts: int = _setting(2, "How often the server is asked for one summary at most; 1 to 10.")
    search_language: str = _setting(
        "english", "The language whose word stems searches know: a Snowball language, or `none`."
    )
    search_memory_mb: int = _setting(512, "How much memory the opened indexes of searched scopes may take, in MiB.")
    vectors: Secret | None = _setting(  # noqa: RUF009 - it makes a field, like all others
        None,
        "Where large scopes are searched: `pgvector`, in the PostgreSQL that `store` names; another one at "
        "`postgresql://…`; a Qdrant server at `qdrant+http://…` or `qdrant+https://…`; or Qdrant inside the process, "
        "in a folder, `qdrant:///…`. Without it, all scopes are searched in memory.",
    )
    vectors_key: Secret | None = _setting(  # noqa: RUF009 - it makes a field, like all others
        None, "What Recollect shows to the Qdrant server, if that asks for an API key."
    )
    vectors_exact: int = _setting(
        20_000, "Scopes with up to so many memories are searched in memory even if `vectors` is set; 0: none."
    )
    vectors_half: bool = _setting(False, "Whether PostgreSQL keeps vectors in half precision, in half the space.")
    log_level: str = _setting("info", f"How much is logged: one of {', '.join(_LEVELS)}.", live=True)
    log_format: str = _setting("text", "How the log is written: `text` for people, `json` for machines.")
    jwt_issuer: str | None = _setting(None, "Who must have issued a JWT (`iss`); needed to accept JWTs at all.")
    jwt_audience: str | None = _setting(None, "For whom a JWT must be meant (`aud`); needed to accept JWTs at all.")
    jwt_key: Secret | None = _setting(  # noqa: RUF009 - it makes a field, like all others
        None, "The key that JWTs are checked with: a shared secret, or a public key (PEM)."
    )
    jwt_key_file: str | None = _setting(None, "A file with that key, instead of the key itself.")
    jwks_url: str | None = _setting(None, "Where the issuer publishes its public keys (JWKS); https, or on loopback.")
    jwks_file: str | None = _setting(None, "A file with the issuer's public keys (JWKS).")
    jwt_algorithms: tuple[str, ...] = _setting(
        ("RS256", "ES256", "EdDSA"), "The algorithms a JWT may be signed with. Name HS256 to use a shared secret."
    )
    jwt_tenant_claim: str = _setting("tenant", "Which claim of a JWT names the tenant; without it: `default`.")
    jwt_leeway_seconds: float = _setting(30.0, "How far the issuer's clock may be off; at most 60.")

    def __post_init__(self) -> None:
        for name, low, high in _WHOLE:
            self._check_whole(name, low, high)
        for each in fields(self):
            if each.name.startswith("keep_") and getattr(self, each.name) is not None:
                self._check_whole(each.name, 0, 1 << 40)
        for name, below, most in _NUMBERS:
            self._check_number(name, below, most)
        for name in TUNABLE:
            checked_tuning(name, getattr(self, name))
        for name in _TEXTS:
            text = getattr(self, name)
            if text is not None and (not isinstance(text, str) or not text.strip()):
                raise InvalidSetting(f"{name} must be text that is not blank, not {type(text).__name__}")
        self._check_store()
        self._check_choices()
        self._check_transport()
        self._check_jwt()

    def _check_store(self) -> None:
        for name in _SECRETS:
            secret = getattr(self, name)
            if secret is not None and not isinstance(secret, Secret):
                raise InvalidSetting(f"{name} must be a Secret, so that it cannot be printed by mistake")
        if self.store is not None and not self.store.reveal().startswith(_STORES):
            raise InvalidSetting(f"store must begin with one of {', '.join(_STORES)}")
        if self.vectors is not None:
            self._check_vectors(self.vectors.reveal())

    def _check_vectors(self, vectors: str) -> None:
        if vectors == PGVECTOR:
            if self.store is None or not self.store.reveal().startswith(_POSTGRES):
                raise InvalidSetting(
                    "vectors can be `pgvector` only where `store` is a PostgreSQL; name one by its URL"
                )
        elif not vectors.startswith(_VECTORS):
            raise InvalidSetting(f"vectors must be `{PGVECTOR}`, or begin with one of {', '.join(_VECTORS)}")

    def _check_choices(self) -> None:
        for name in _SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise InvalidSetting(f"{name} must be true or false")
        if self.policy_engine not in _ENGINES:
            raise InvalidSetting(f"policy_engine must be one of {', '.join(_ENGINES)}, not {self.policy_engine!r}")
        if self.policy_engine == "opa" and self.opa_url is None:
            raise InvalidSetting("policy_engine = opa needs opa_url, the address of the OPA server")
        if self.policy_engine != "rego" and self.policy_dir is not None:
            raise InvalidSetting(f"policy_dir is for policy_engine = rego, not {self.policy_engine}")
        if self.opa_url is not None and not _is_safe_url(self.opa_url):
            raise InvalidSetting("opa_url must begin with https://, or with http:// on loopback")
        self._check_embedder()
        self._check_extractor()
        self._check_summarizer()
        if self.log_level not in _LEVELS:
            raise InvalidSetting(f"log_level must be one of {', '.join(_LEVELS)}, not {self.log_level!r}")
        if self.log_format not in ("text", "json"):
            raise InvalidSetting(f"log_format must be text or json, not {self.log_format!r}")
        names = self.filterable_attributes
        if not isinstance(names, tuple) or not all(is_name(name) for name in names):
            raise InvalidSetting("filterable_attributes must be a list of names: letters, digits, '_', '.', '-'")
        if taken := {"namespace", "sub"} & set(names):
            raise InvalidSetting(f"filterable_attributes must not name {', '.join(sorted(taken))}: policies set those")

    def _check_embedder(self) -> None:
        if self.embedder not in _EMBEDDERS:
            raise InvalidSetting(f"embedder must be one of {', '.join(_EMBEDDERS)}, not {self.embedder!r}")
        if self.embedder == "openai" and (self.embedder_url is None or self.embedder_model is None):
            raise InvalidSetting("embedder = openai needs embedder_url and embedder_model")
        if self.embedder_url is not None and not _is_safe_url(self.embedder_url):
            raise InvalidSetting("embedder_url must begin with https://, or with http:// on loopback")
        if self.embedder_dimension is not None:
            self._check_whole("embedder_dimension", 8, 8_192)
        checked_language(self.search_language)

    def _check_extractor(self) -> None:
        if self.extractor not in _EXTRACTORS:
            raise InvalidSetting(f"extractor must be one of {', '.join(_EXTRACTORS)}, not {self.extractor!r}")
        if self.extractor == "llm" and (self.extractor_url is None or self.extractor_model is None):
            raise InvalidSetting("extractor = llm needs extractor_url and extractor_model")
        if self.extractor_url is not None and not _is_safe_url(self.extractor_url):
            raise InvalidSetting("extractor_url must begin with https://, or with http:// on loopback")

    def _check_summarizer(self) -> None:
        if self.summarizer not in _SUMMARIZERS:
            raise InvalidSetting(f"summarizer must be one of {', '.join(_SUMMARIZERS)}, not {self.summarizer!r}")
        if self.summarizer == "llm" and (self.summarizer_url is None or self.summarizer_model is None):
            raise InvalidSetting("summarizer = llm needs summarizer_url and summarizer_model")
        if self.summarizer_url is not None and not _is_safe_url(self.summarizer_url):
            raise InvalidSetting("summarizer_url must begin with https://, or with http:// on loopback")

    def _check_transport(self) -> None:
        if not isinstance(self.host, str) or not self.host or any(map(str.isspace, self.host)):
            raise InvalidSetting("host must be an address to listen on, like 127.0.0.1")
        for name in ("verified_tools", "mcp_hosts", "mcp_origins"):
            given = getattr(self, name)
            if not isinstance(given, tuple) or not all(isinstance(each, str) and each.strip() for each in given):
                raise InvalidSetting(f"{name} must be a list of texts")
        if any("/" in each or "*" in each for each in self.mcp_hosts):
            raise InvalidSetting("mcp_hosts are names like memory.example.com, perhaps with a port, and nothing else")
        if any("://" not in each or "*" in each for each in self.mcp_origins):
            raise InvalidSetting("mcp_origins are origins like https://chat.example.com")
        if self.grpc_port is not None:
            self._check_whole("grpc_port", 0, 65_535)
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InvalidSetting("tls_certificate and tls_key belong together: give both or none")

    def _check_jwt(self) -> None:
        ways = [
            name for name in ("jwt_key", "jwt_key_file", "jwks_url", "jwks_file") if getattr(self, name) is not None
        ]
        if len(ways) > 1:
            raise InvalidSetting(f"give one way to check JWTs, not {' and '.join(ways)}")
        if ways and (self.jwt_issuer is None or self.jwt_audience is None):
            raise InvalidSetting(f"{ways[0]} needs jwt_issuer and jwt_audience: a token must be checked for both")
        algorithms = self.jwt_algorithms
        if not isinstance(algorithms, tuple) or not algorithms or not set(algorithms) <= _ALGORITHMS:
            raise InvalidSetting(f"jwt_algorithms must be some of {', '.join(sorted(_ALGORITHMS))}")
        if self.jwks_url is not None and not _is_safe_url(self.jwks_url):
            raise InvalidSetting("jwks_url must begin with https://, or with http:// on loopback")

    def _check_number(self, name: str, below: float, most: float) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not below <= value <= most:
            raise InvalidSetting(f"{name} must be a number from {below:g} to {most:g}, not {value!r}")

    def _check_whole(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InvalidSetting(f"{name} must be a whole number from {low} to {high:,}, not {value!r}")

    def retention(self) -> Retention:
        """The retention that these settings say."""

        def micro(seconds: int | None) -> int | None:
            return None if seconds is None else seconds * 1_000_000

        return Retention(
            micro(self.keep_superseded_seconds),
            micro(self.keep_deleted_seconds),
            micro(self.keep_tombstones_seconds),
            micro(self.keep_events_seconds),
            micro(self.keep_receipts_seconds),
        )


_WHOLE = (
    ("policy_processes", 1, 16),
    ("reader_threads", 1, 64),
    ("group_size", 1, 10_000),
    ("port", 0, 65_535),
    ("max_body_bytes", 1_024, 256 << 20),
    ("max_connections", 1, 100_000),
    ("embedder_batch", 1, 2_048),
    ("embedder_threads", 0, 256),
    ("extractor_attempts", 1, 10),
    ("extractor_tokens", 64, 16_384),
    ("summarizer_attempts", 1, 10),
    ("search_memory_mb", 16, 1 << 20),
    ("vectors_exact", 0, 10_000_000),
    ("usage_importance", 0, 10),
)
_NUMBERS = (
    ("busy_seconds", 0.001, 3_600),
    ("opa_seconds", 0.01, 60),
    ("embedder_seconds", 0.1, 600),
    ("extractor_seconds", 0.1, 600),
    ("summarizer_seconds", 0.1, 600),
    ("body_seconds", 0.1, 3_600),
    ("request_seconds", 0.1, 86_400),
    ("rate_per_second", 0, 1e9),
    ("failures_per_second", 0, 1e9),
    ("shutdown_seconds", 0, 3_600),
    ("jwt_leeway_seconds", 0, 60),
)
_SWITCHES = ("allow_plain_http", "vectors_half", "tenant_policies", "require_justification", "curator")
_SECRETS = (
    "store",
    "vectors",
    "vectors_key",
    "jwt_key",
    "opa_token",
    "embedder_key",
    "extractor_key",
    "summarizer_key",
)
_POSTGRES = ("postgresql://", "postgres://")
_STORES = (*_POSTGRES, "mongodb://", "mongodb+srv://", "sqlite:///")
_VECTORS = (*_POSTGRES, "qdrant:///", "qdrant+http://", "qdrant+https://")
PGVECTOR = "pgvector"
"""The setting `vectors` that means the store's own database."""
_ENGINES = ("rego", "opa", "builtin")
_EXTRACTORS = ("rules", "llm")
_SUMMARIZERS = ("extractive", "llm")
_EMBEDDERS = ("local", "openai", "hashing", "none")
_TEXTS = (
    "embedder_url",
    "embedder_model",
    "extractor_url",
    "extractor_model",
    "summarizer_url",
    "summarizer_model",
    "model_dir",
    "policy_dir",
    "opa_url",
    "master_key_command",
    "previous_master_key_command",
    "tls_certificate",
    "tls_key",
    "jwt_issuer",
    "jwt_audience",
    "jwt_key_file",
    "jwks_url",
    "jwks_file",
    "jwt_tenant_claim",
)


def _is_safe_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost"))
