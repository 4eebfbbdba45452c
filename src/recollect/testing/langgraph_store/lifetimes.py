"""Items that expire: when they go, and what prolongs their lives.

Stores that show expired items until they are swept are asked not to (`omit_expired`).
"""

from __future__ import annotations

from langgraph.store.base import GetOp, PutOp, TTLConfig

from recollect.testing.langgraph_store.trial import Trial, check

PLACE = ("short", "lived")
_HIDDEN: TTLConfig = {"omit_expired": True}
_PART, _WHOLE = 0.6, 1.3
"""Parts of a lifetime: two of the first are longer than one, and the second outlasts it."""


def _config(trial: Trial, **config: bool) -> TTLConfig:
    return {**_HIDDEN, "default_ttl": trial.minutes, **config}  # type: ignore[typeddict-item] # names of its members


@check
def what_has_expired_is_gone(trial: Trial) -> None:
    """An item with a `ttl` is there until its time is up, and then neither got nor found nor listed."""
    with trial.fresh(ttl=_HIDDEN) as store:
        store.put(PLACE, "k", {"text": "tea"}, ttl=trial.minutes)
        assert store.value(PLACE, "k") == {"text": "tea"}
        trial.pass_time(trial.lifetime * _WHOLE)
        assert store.value(PLACE, "k") is None
        assert store.search(PLACE, refresh_ttl=False) == []
        assert store.search(PLACE, query="tea", refresh_ttl=False) == []
        assert store.list_namespaces() == []


@check
def without_a_ttl_nothing_expires(trial: Trial) -> None:
    """An item lives on when no `ttl` was given, whatever others have."""
    with trial.fresh(ttl=_HIDDEN) as store:
        store.put(PLACE, "short", {"n": 1}, ttl=trial.minutes)
        store.put(PLACE, "long", {"n": 1})
        store.put(PLACE, "none", {"n": 1}, ttl=None)
        trial.pass_time(trial.lifetime * _WHOLE)
        assert sorted(store.keys(PLACE)) == ["long", "none"]


@check
def reading_prolongs_a_life(trial: Trial) -> None:
    """Each `get` lets an item live as long again."""
    with trial.fresh(ttl=_HIDDEN) as store:
        store.put(PLACE, "k", {"n": 1}, ttl=trial.minutes)
        for _ in range(2):
            trial.pass_time(trial.lifetime * _PART)
            assert store.get(PLACE, "k") is not None
        trial.pass_time(trial.lifetime * _PART)
        assert store.value(PLACE, "k") == {"n": 1}
        trial.pass_time(trial.lifetime * _PART)
        assert store.value(PLACE, "k") is None


@check
def finding_prolongs_a_life(trial: Trial) -> None:
    """A search lets what it returns live as long again, and nothing else."""
    with trial.fresh(ttl=_HIDDEN) as store:
        store.put(PLACE, "found", {"n": 1}, ttl=trial.minutes)
        store.put(PLACE, "filtered", {"n": 2}, ttl=trial.minutes)
        trial.pass_time(trial.lifetime * _PART)
        assert store.keys(PLACE, filter={"n": 1}) == ["found"]
        trial.pass_time(trial.lifetime * _PART)
        assert store.keys(PLACE, refresh_ttl=False) == ["found"]


@check
def reading_need_not_prolong_a_life(trial: Trial) -> None:
    """With `refresh_ttl=False`, neither `get` nor `search` changes when an item expires."""
    with trial.fresh(ttl=_HIDDEN) as store:
        store.put(PLACE, "k", {"n": 1}, ttl=trial.minutes)
        trial.pass_time(trial.lifetime * _PART)
        assert store.get(PLACE, "k", refresh_ttl=False) is not None
        assert store.keys(PLACE, refresh_ttl=False) == ["k"]
        trial.pass_time(trial.lifetime * _PART)
        assert store.value(PLACE, "k") is None


@check
def a_store_has_a_lifetime_of_its_own(trial: Trial) -> None:
    """`default_ttl` holds for puts that say nothing, and `ttl=None` lets an item live on."""
    with trial.fresh(ttl=_config(trial)) as store:
        store.put(PLACE, "default", {"n": 1})
        store.put(PLACE, "forever", {"n": 1}, ttl=None)
        trial.pass_time(trial.lifetime * _WHOLE)
        assert store.keys(PLACE) == ["forever"]


@check
def a_store_says_whether_reading_prolongs(trial: Trial) -> None:
    """With `refresh_on_read=False`, reading prolongs only where `refresh_ttl` asks for it."""
    with trial.fresh(ttl=_config(trial, refresh_on_read=False)) as store:
        store.put(PLACE, "read", {"n": 1})
        store.put(PLACE, "refreshed", {"n": 1})
        trial.pass_time(trial.lifetime * _PART)
        assert store.get(PLACE, "read") is not None
        assert store.get(PLACE, "refreshed", refresh_ttl=True) is not None
        trial.pass_time(trial.lifetime * _PART)
        assert store.keys(PLACE) == ["refreshed"]


@check
def writing_begins_a_new_life(trial: Trial) -> None:
    """A put gives an item the lifetime that it says, and none when it says none."""
    with trial.fresh(ttl=_HIDDEN) as store:
        for key in ("again", "forever"):
            store.put(PLACE, key, {"n": 1}, ttl=trial.minutes)
        trial.pass_time(trial.lifetime * _PART)
        store.put(PLACE, "again", {"n": 2}, ttl=trial.minutes)
        store.put(PLACE, "forever", {"n": 2})
        trial.pass_time(trial.lifetime * _PART)
        assert sorted(store.keys(PLACE, refresh_ttl=False)) == ["again", "forever"]
        trial.pass_time(trial.lifetime * _WHOLE)
        assert store.keys(PLACE) == ["forever"]


@check
def reading_is_no_update(trial: Trial) -> None:
    """A read that prolongs a life leaves value, times, order, and what queries find as they were."""
    with trial.fresh(ttl=_HIDDEN) as store:
        long = trial.minutes * 20
        store.put(PLACE, "a", {"text": "green tea", "other": "heavy oil"}, index=["text"], ttl=long)
        trial.pass_time(0.01)
        store.put(PLACE, "b", {"text": "heavy oil"}, index=["text"])
        before = store.get(PLACE, "a")
        trial.pass_time(0.01)
        after = store.get(PLACE, "a")
        assert before is not None
        assert after is not None
        assert (after.value, after.created_at, after.updated_at) == (before.value, before.created_at, before.updated_at)
        assert store.keys(PLACE) == ["b", "a"]
        assert store.keys(PLACE, limit=1, offset=1) == ["a"]
        assert store.keys(PLACE, query="green tea") == ["a", "b"]
        assert store.keys(PLACE, query="heavy oil") == ["b", "a"]


@check
def a_batch_has_lifetimes_too(trial: Trial) -> None:
    """Operations of a batch have lifetimes and prolong them like the single calls."""
    with trial.fresh(ttl=_HIDDEN) as store:
        store.batch([PutOp(PLACE, key, {"key": key}, ttl=trial.minutes) for key in ("read", "left")])
        trial.pass_time(trial.lifetime * _PART)
        store.batch([GetOp(PLACE, "read"), GetOp(PLACE, "left", refresh_ttl=False)])
        trial.pass_time(trial.lifetime * _PART)
        assert store.keys(PLACE) == ["read"]
