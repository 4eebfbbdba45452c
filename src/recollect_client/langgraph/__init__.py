"""LangGraph's `BaseStore` over Recollect: on a server, or over memories in the same process.

It needs `langgraph-checkpoint`, which the extra `langgraph` brings. Where LangGraph's own stores differ from one
another, these do what the documentation of `BaseStore` says or most of them do; the reference names the exceptions.
"""

from recollect_client.langgraph._stores import AsyncRecollectStore, RecollectStore

__all__ = ["AsyncRecollectStore", "RecollectStore"]
