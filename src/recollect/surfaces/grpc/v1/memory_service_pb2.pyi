import datetime

from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ArchiveFilter(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ARCHIVE_FILTER_UNSPECIFIED: _ClassVar[ArchiveFilter]
    ARCHIVE_FILTER_EXCLUDE: _ClassVar[ArchiveFilter]
    ARCHIVE_FILTER_INCLUDE: _ClassVar[ArchiveFilter]
    ARCHIVE_FILTER_ONLY: _ClassVar[ArchiveFilter]
ARCHIVE_FILTER_UNSPECIFIED: ArchiveFilter
ARCHIVE_FILTER_EXCLUDE: ArchiveFilter
ARCHIVE_FILTER_INCLUDE: ArchiveFilter
ARCHIVE_FILTER_ONLY: ArchiveFilter

class PutMemoryRequest(_message.Message):
    __slots__ = ("namespace", "key", "value", "attributes", "ttl_seconds", "index_fields", "index_disabled", "expected_revision", "expires_at", "wait", "value_json", "attributes_json")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    TTL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELDS_FIELD_NUMBER: _ClassVar[int]
    INDEX_DISABLED_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_JSON_FIELD_NUMBER: _ClassVar[int]
    namespace: _containers.RepeatedScalarFieldContainer[str]
    key: str
    value: _struct_pb2.Struct
    attributes: _struct_pb2.Struct
    ttl_seconds: int
    index_fields: _containers.RepeatedScalarFieldContainer[str]
    index_disabled: bool
    expected_revision: int
    expires_at: str
    wait: str
    value_json: bytes
    attributes_json: bytes
    def __init__(self, namespace: _Optional[_Iterable[str]] = ..., key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., attributes: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., ttl_seconds: _Optional[int] = ..., index_fields: _Optional[_Iterable[str]] = ..., index_disabled: _Optional[bool] = ..., expected_revision: _Optional[int] = ..., expires_at: _Optional[str] = ..., wait: _Optional[str] = ..., value_json: _Optional[bytes] = ..., attributes_json: _Optional[bytes] = ...) -> None: ...

class MemoryWriteResult(_message.Message):
    __slots__ = ("id", "namespace", "key", "attributes", "created_at", "expires_at", "revision", "kind", "sequence", "updated_at", "archived", "indexed", "attributes_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_JSON_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    namespace: _containers.RepeatedScalarFieldContainer[str]
    key: str
    attributes: _struct_pb2.Struct
    created_at: str
    expires_at: str
    revision: int
    kind: str
    sequence: int
    updated_at: str
    archived: bool
    indexed: bool
    attributes_json: bytes
    def __init__(self, id: _Optional[bytes] = ..., namespace: _Optional[_Iterable[str]] = ..., key: _Optional[str] = ..., attributes: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., created_at: _Optional[str] = ..., expires_at: _Optional[str] = ..., revision: _Optional[int] = ..., kind: _Optional[str] = ..., sequence: _Optional[int] = ..., updated_at: _Optional[str] = ..., archived: _Optional[bool] = ..., indexed: _Optional[bool] = ..., attributes_json: _Optional[bytes] = ...) -> None: ...

class GetMemoryRequest(_message.Message):
    __slots__ = ("namespace", "key", "archived", "as_of", "json_values", "justification", "as_user_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    JSON_VALUES_FIELD_NUMBER: _ClassVar[int]
    JUSTIFICATION_FIELD_NUMBER: _ClassVar[int]
    AS_USER_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: _containers.RepeatedScalarFieldContainer[str]
    key: str
    archived: ArchiveFilter
    as_of: _timestamp_pb2.Timestamp
    json_values: bool
    justification: str
    as_user_id: str
    def __init__(self, namespace: _Optional[_Iterable[str]] = ..., key: _Optional[str] = ..., archived: _Optional[_Union[ArchiveFilter, str]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., json_values: _Optional[bool] = ..., justification: _Optional[str] = ..., as_user_id: _Optional[str] = ...) -> None: ...

class UpdateMemoryRequest(_message.Message):
    __slots__ = ("namespace", "key", "archived", "expected_revision")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    namespace: _containers.RepeatedScalarFieldContainer[str]
    key: str
    archived: bool
    expected_revision: int
    def __init__(self, namespace: _Optional[_Iterable[str]] = ..., key: _Optional[str] = ..., archived: _Optional[bool] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class DeleteMemoryRequest(_message.Message):
    __slots__ = ("namespace", "key", "expected_revision")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    namespace: _containers.RepeatedScalarFieldContainer[str]
    key: str
    expected_revision: int
    def __init__(self, namespace: _Optional[_Iterable[str]] = ..., key: _Optional[str] = ..., expected_revision: _Optional[int] = ...) -> None: ...

class MemoryItem(_message.Message):
    __slots__ = ("id", "namespace", "key", "value", "attributes", "score", "created_at", "expires_at", "archived", "revision", "matched_queries", "updated_at", "explanation", "matched_query_numbers", "value_json", "attributes_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    MATCHED_QUERIES_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    MATCHED_QUERY_NUMBERS_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_JSON_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    namespace: _containers.RepeatedScalarFieldContainer[str]
    key: str
    value: _struct_pb2.Struct
    attributes: _struct_pb2.Struct
    score: float
    created_at: str
    expires_at: str
    archived: bool
    revision: int
    matched_queries: _containers.RepeatedScalarFieldContainer[str]
    updated_at: str
    explanation: _struct_pb2.Struct
    matched_query_numbers: _containers.RepeatedScalarFieldContainer[int]
    value_json: bytes
    attributes_json: bytes
    def __init__(self, id: _Optional[bytes] = ..., namespace: _Optional[_Iterable[str]] = ..., key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., attributes: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., score: _Optional[float] = ..., created_at: _Optional[str] = ..., expires_at: _Optional[str] = ..., archived: _Optional[bool] = ..., revision: _Optional[int] = ..., matched_queries: _Optional[_Iterable[str]] = ..., updated_at: _Optional[str] = ..., explanation: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., matched_query_numbers: _Optional[_Iterable[int]] = ..., value_json: _Optional[bytes] = ..., attributes_json: _Optional[bytes] = ...) -> None: ...

class MemorySearchQuery(_message.Message):
    __slots__ = ("text", "purpose")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    text: str
    purpose: str
    def __init__(self, text: _Optional[str] = ..., purpose: _Optional[str] = ...) -> None: ...

class SearchMemoriesRequest(_message.Message):
    __slots__ = ("namespace_prefix", "query", "filter", "limit", "offset", "archived", "queries", "mode", "min_score", "explain", "wait_seconds", "order", "cursor", "as_of", "filter_json", "json_values", "justification", "as_user_id")
    NAMESPACE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    FILTER_JSON_FIELD_NUMBER: _ClassVar[int]
    JSON_VALUES_FIELD_NUMBER: _ClassVar[int]
    JUSTIFICATION_FIELD_NUMBER: _ClassVar[int]
    AS_USER_ID_FIELD_NUMBER: _ClassVar[int]
    namespace_prefix: _containers.RepeatedScalarFieldContainer[str]
    query: str
    filter: _struct_pb2.Struct
    limit: int
    offset: int
    archived: ArchiveFilter
    queries: _containers.RepeatedCompositeFieldContainer[MemorySearchQuery]
    mode: str
    min_score: float
    explain: bool
    wait_seconds: float
    order: str
    cursor: str
    as_of: _timestamp_pb2.Timestamp
    filter_json: bytes
    json_values: bool
    justification: str
    as_user_id: str
    def __init__(self, namespace_prefix: _Optional[_Iterable[str]] = ..., query: _Optional[str] = ..., filter: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., limit: _Optional[int] = ..., offset: _Optional[int] = ..., archived: _Optional[_Union[ArchiveFilter, str]] = ..., queries: _Optional[_Iterable[_Union[MemorySearchQuery, _Mapping]]] = ..., mode: _Optional[str] = ..., min_score: _Optional[float] = ..., explain: _Optional[bool] = ..., wait_seconds: _Optional[float] = ..., order: _Optional[str] = ..., cursor: _Optional[str] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., filter_json: _Optional[bytes] = ..., json_values: _Optional[bool] = ..., justification: _Optional[str] = ..., as_user_id: _Optional[str] = ...) -> None: ...

class SearchMemoriesResponse(_message.Message):
    __slots__ = ("items", "cursor", "explanation")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[MemoryItem]
    cursor: str
    explanation: _struct_pb2.Struct
    def __init__(self, items: _Optional[_Iterable[_Union[MemoryItem, _Mapping]]] = ..., cursor: _Optional[str] = ..., explanation: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class ListMemoryNamespacesRequest(_message.Message):
    __slots__ = ("prefix", "suffix", "max_depth", "archived", "limit", "offset", "justification", "as_user_id")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    SUFFIX_FIELD_NUMBER: _ClassVar[int]
    MAX_DEPTH_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    JUSTIFICATION_FIELD_NUMBER: _ClassVar[int]
    AS_USER_ID_FIELD_NUMBER: _ClassVar[int]
    prefix: _containers.RepeatedScalarFieldContainer[str]
    suffix: _containers.RepeatedScalarFieldContainer[str]
    max_depth: int
    archived: ArchiveFilter
    limit: int
    offset: int
    justification: str
    as_user_id: str
    def __init__(self, prefix: _Optional[_Iterable[str]] = ..., suffix: _Optional[_Iterable[str]] = ..., max_depth: _Optional[int] = ..., archived: _Optional[_Union[ArchiveFilter, str]] = ..., limit: _Optional[int] = ..., offset: _Optional[int] = ..., justification: _Optional[str] = ..., as_user_id: _Optional[str] = ...) -> None: ...

class MemoryNamespace(_message.Message):
    __slots__ = ("segments",)
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, segments: _Optional[_Iterable[str]] = ...) -> None: ...

class ListMemoryNamespacesResponse(_message.Message):
    __slots__ = ("namespaces",)
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedCompositeFieldContainer[MemoryNamespace]
    def __init__(self, namespaces: _Optional[_Iterable[_Union[MemoryNamespace, _Mapping]]] = ...) -> None: ...

class ListMemoryEventsRequest(_message.Message):
    __slots__ = ("namespace", "kinds", "after", "before", "after_cursor", "limit", "wait_seconds", "json_values", "justification", "as_user_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_CURSOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    JSON_VALUES_FIELD_NUMBER: _ClassVar[int]
    JUSTIFICATION_FIELD_NUMBER: _ClassVar[int]
    AS_USER_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    after: _timestamp_pb2.Timestamp
    before: _timestamp_pb2.Timestamp
    after_cursor: str
    limit: int
    wait_seconds: float
    json_values: bool
    justification: str
    as_user_id: str
    def __init__(self, namespace: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[str]] = ..., after: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., after_cursor: _Optional[str] = ..., limit: _Optional[int] = ..., wait_seconds: _Optional[float] = ..., json_values: _Optional[bool] = ..., justification: _Optional[str] = ..., as_user_id: _Optional[str] = ...) -> None: ...

class MemoryEventItem(_message.Message):
    __slots__ = ("id", "namespace", "key", "kind", "occurred_at", "value", "attributes", "expires_at", "sequence", "cursor", "revision", "value_json", "attributes_json", "archived", "actor", "detail")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_JSON_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    namespace: _containers.RepeatedScalarFieldContainer[str]
    key: str
    kind: str
    occurred_at: _timestamp_pb2.Timestamp
    value: _struct_pb2.Struct
    attributes: _struct_pb2.Struct
    expires_at: _timestamp_pb2.Timestamp
    sequence: int
    cursor: str
    revision: int
    value_json: bytes
    attributes_json: bytes
    archived: bool
    actor: str
    detail: _struct_pb2.Struct
    def __init__(self, id: _Optional[bytes] = ..., namespace: _Optional[_Iterable[str]] = ..., key: _Optional[str] = ..., kind: _Optional[str] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., value: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., attributes: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sequence: _Optional[int] = ..., cursor: _Optional[str] = ..., revision: _Optional[int] = ..., value_json: _Optional[bytes] = ..., attributes_json: _Optional[bytes] = ..., archived: _Optional[bool] = ..., actor: _Optional[str] = ..., detail: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class ListMemoryEventsResponse(_message.Message):
    __slots__ = ("events", "after_cursor", "complete")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    AFTER_CURSOR_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[MemoryEventItem]
    after_cursor: str
    complete: bool
    def __init__(self, events: _Optional[_Iterable[_Union[MemoryEventItem, _Mapping]]] = ..., after_cursor: _Optional[str] = ..., complete: _Optional[bool] = ...) -> None: ...

class MemoryIndexStatusResponse(_message.Message):
    __slots__ = ("pending", "failed", "indexed", "model")
    PENDING_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    pending: int
    failed: int
    indexed: int
    model: str
    def __init__(self, pending: _Optional[int] = ..., failed: _Optional[int] = ..., indexed: _Optional[int] = ..., model: _Optional[str] = ...) -> None: ...
