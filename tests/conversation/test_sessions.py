"""Sessions: when they begin and end, and what is made of them, once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.conversation.course import MINUTE, Echo, due, going_on, rows, summarised_by, talk
from tests.pipeline.scene import Scene

from recollect.domain.conversation.sessions import Session
from recollect.domain.errors import Forbidden, InvalidRequest, NotFound
from recollect.domain.instants import Instant, datetime_of
from recollect.domain.reasons import Plane
from recollect.service.conversation.places import Talks


async def test_a_session_is_over_after_half_an_hour_of_silence(here: Scene) -> None:
    (first,) = await talk(here, "Hello there.")
    here.clock.advance(30 * MINUTE - 1)
    assert (await here.alice.converse("Still here.", persona="Coach"))["session"]["id"] == first["session"]["id"]
    here.clock.advance(30 * MINUTE)
    after = await here.alice.converse("I am back.", persona="Coach")
    assert after["opened"]
    assert after["closed"]["id"] == first["session"]["id"]
    assert after["closed"]["ended_at"] == after["closed"]["last_activity_at"]  # not when somebody noticed
    assert after["state"]["message_count"] == 3
    assert after["session"]["turn_count"] == 1


async def test_who_returns_at_minute_31_finds_what_the_session_was_about(here: Scene) -> None:
    (first,) = await talk(here, "I want to run a marathon in May.")
    here.clock.advance(31 * MINUTE)
    await here.alice.converse("Where were we?", persona="Coach")
    over = await here.alice.get_session(first["session"]["id"])
    assert "marathon" in over["summary"]["summary"]["one_liner"]


async def test_a_session_that_fell_silent_is_ended_by_nobody_s_message_too(here: Scene) -> None:
    (first,) = await talk(here, "I'll call Mom tomorrow.")
    here.clock.advance(30 * MINUTE)
    assert await here.root.workings.summarizing.close_idle("tenant_acme_prod") == 1
    assert await going_on(here) == []
    assert len(await due(here)) == 1
    assert await here.admin.summarize_pending() == 1
    over = await here.alice.get_session(first["session"]["id"])
    assert over["closed_by"] == "idle"
    assert over["summary"]["summary"]["commitments"] == ["call Mom tomorrow"]
    assert await here.admin.summarize_pending() == 0


async def test_an_ended_session_takes_no_more_turns(here: Scene) -> None:
    (first,) = await talk(here, "Hello there.")
    named = first["session"]["id"]
    ended = await here.alice.close_session(named)
    assert ended["closed_by"] == "request"
    assert not ended["open"]
    assert await here.alice.close_session(named) == ended  # and ending it again changes nothing
    with pytest.raises(InvalidRequest, match="a new one begins"):
        await here.alice.converse("One more thing.", session=named)
    assert (await here.alice.converse("One more thing.", persona="Coach"))["opened"]


async def test_a_silent_session_takes_no_more_turns_though_nobody_ended_it(here: Scene) -> None:
    (first,) = await talk(here, "Hello there.")
    here.clock.advance(31 * MINUTE)
    with pytest.raises(InvalidRequest, match="a new one begins"):
        await here.alice.converse("One more thing.", session=first["session"]["id"])


async def test_a_session_is_taken_on_by_its_id_alone(here: Scene) -> None:
    (first,) = await talk(here, "Hello there.")
    again = await here.alice.converse("Me again.", session=first["session"]["id"])
    assert again["session"]["persona"] == "Coach"
    assert not again["opened"]
    with pytest.raises(InvalidRequest, match="another persona"):
        await here.alice.converse("Me again.", session=first["session"]["id"], persona="Cook")
    with pytest.raises(NotFound):
        await here.as_user("bob").converse("Me too.", session=first["session"]["id"])
    with pytest.raises(NotFound):
        await here.as_user("bob").get_session(first["session"]["id"])
    with pytest.raises(NotFound):
        await here.as_user("bob").close_session(first["session"]["id"])


async def test_there_is_one_open_session_for_each_persona(here: Scene) -> None:
    await talk(here, "Hello.", "Hello again.")
    await talk(here, "Hello.", persona="Cook")
    await talk(here, "Hello.", user="bob")
    assert len(await going_on(here)) == 3
    page = await here.alice.list_sessions()
    assert [(each["persona"], each["turn_count"]) for each in page["sessions"]] == [("Cook", 1), ("Coach", 2)]
    assert [each["persona"] for each in (await here.alice.list_sessions(persona="Cook"))["sessions"]] == ["Cook"]


async def test_a_persona_may_wait_longer(here: Scene) -> None:
    await here.admin.put_persona("Coach", {"idle_seconds": 2 * 3_600})
    (first,) = await talk(here, "Hello there.")
    here.clock.advance(3_600)
    assert await here.admin.summarize_pending() == 0
    assert (await here.alice.converse("Hi.", persona="Coach"))["session"]["id"] == first["session"]["id"]
    here.clock.advance(2 * 3_600)
    assert (await here.alice.converse("Hi.", persona="Coach"))["opened"]


async def test_a_rolling_summary_belongs_to_its_session_and_keeps_its_history(here: Scene) -> None:
    echo = Echo()
    with summarised_by(here.root, echo):
        told = await talk(here, *(f"line {number}" for number in range(8)))
        session = told[-1]["session"]["id"]
        assert (await here.alice.get_session(session))["rolling"]["message_count"] == 8
        here.clock.advance(31 * MINUTE)
        told = await talk(here, *(f"word {number}" for number in range(4)))
    assert next(each["due"] for each in told) == [{"kind": "summary", "of": session}]
    assert echo.told[1].before == "line 0 / line 1 / line 2 / line 3"  # what was said before is carried on
    assert echo.told[2].before == ""  # and not into the next session
    new = (await here.alice.get_session(told[-1]["session"]["id"]))["rolling"]
    assert new["message_count"] == 12
    assert "line" not in new["text"]
    kept = await here.root.workings.store.history("tenant_acme_prod", Talks("alice").rolling(session))
    assert len(kept) == 2


async def test_a_rolling_summary_of_an_ended_session_is_dropped(here: Scene) -> None:
    with summarised_by(here.root, Echo(asks=True), inline=False):
        told = await talk(here, *(f"line {number}" for number in range(4)))
        await here.alice.close_session(told[-1]["session"]["id"])
        assert len(await due(here)) == 2  # the rolling one, and the one of the whole session
        assert await here.admin.summarize_pending() == 1
    assert await due(here) == []
    over = await here.alice.get_session(told[-1]["session"]["id"])
    assert over["rolling"] is None
    assert over["summary"]["summary"]["one_liner"] == "line 0"


async def test_what_fails_is_noted_and_made_later(here: Scene) -> None:
    echo = Echo(fails=2)
    with summarised_by(here.root, echo):
        told = await talk(here, *(f"line {number}" for number in range(4)))
        assert told[-1]["number"] == 4  # the turn is kept in any case
        state = await here.alice.get_session_state("Coach")
        assert state["last_rolling_error"] == {"reason": "exception", "detail": None}
        assert state["last_rolling_attempt_at"] is not None
        assert state["last_rolling_success_at"] is None
        assert await here.admin.summarize_pending() == 0  # it waits a moment
        here.clock.advance(1)
        assert await here.admin.summarize_pending() == 0  # and fails once more
        here.clock.advance(1)
        assert await here.admin.summarize_pending() == 0
        here.clock.advance(1)
        assert await here.admin.summarize_pending() == 1
    state = await here.alice.get_session_state("Coach")
    assert state["last_rolling_error"] is None
    assert state["last_rolling_message_count"] == 4
    assert await due(here) == []


async def test_a_summarizer_that_takes_its_time_is_left_to_the_worker(here: Scene) -> None:
    woken = []
    summarizing = here.root.workings.summarizing
    with summarised_by(here.root, Echo(asks=True), inline=False):
        summarizing.wake = lambda: woken.append(1)
        told = await talk(here, *(f"line {number}" for number in range(5)))
        assert woken
        assert (await here.alice.get_session(told[-1]["session"]["id"]))["rolling"] is None
        assert await summarizing.summarize_due("tenant_acme_prod") == 1
    rolling = (await here.alice.get_session(told[-1]["session"]["id"]))["rolling"]
    assert rolling["text"] == "line 0 / line 1 / line 2 / line 3"  # what was said when it became due


async def test_the_spine_is_made_anew_after_more_than_twenty_messages_each_time(here: Scene) -> None:
    await talk(here, *("ok" for _ in range(10)), ai="fine")
    assert (await here.alice.list_spines())["spines"] == []
    await talk(here, "ok", ai="fine", persona="Cook")  # messages count with whomever
    assert (await here.alice.get_spine())["message_count"] == 22
    await talk(here, *("ok" for _ in range(10)), ai="fine")
    assert (await here.alice.get_spine())["version"] == 1
    await talk(here, "ok", ai="fine")
    assert (await here.alice.get_spine())["version"] == 2
    assert (await here.alice.get_spine(1))["version"] == 1
    with pytest.raises(NotFound):
        await here.alice.get_spine(3)


async def test_a_persona_can_be_left_out_of_the_spine(here: Scene) -> None:
    await here.admin.put_persona("Coach", {"spine": False})
    await talk(here, *("ok" for _ in range(22)))
    assert (await here.alice.list_spines())["spines"] == []


async def test_the_past_is_told_in_its_order(here: Scene) -> None:
    start = datetime_of(here.root.workings.clock()) - timedelta(days=30)
    first = await here.alice.converse("I prefer tea.", persona="Coach", at=start)
    assert first["session"]["started_at"] == first["state"]["last_interaction"]
    same = await here.alice.converse("I work as a nurse.", persona="Coach", at=start + timedelta(minutes=29))
    assert not same["opened"]
    assert await here.admin.summarize_pending() == 0  # what is told right now goes on right now
    other = await here.alice.converse("Hello again.", persona="Coach", at=start + timedelta(minutes=59))
    assert other["opened"]
    assert other["closed"]["ended_at"] == same["session"]["last_activity_at"]
    with pytest.raises(InvalidRequest, match="in their order"):
        await here.alice.converse("Before.", persona="Coach", at=start)
    with pytest.raises(InvalidRequest, match="future"):
        await here.alice.converse("After.", persona="Coach", at=start + timedelta(days=31))
    (capture, *_) = (await here.alice.list_captures())["captures"]
    assert capture["at"] == other["session"]["last_activity_at"]
    here.clock.advance(31 * MINUTE)
    assert await here.admin.summarize_pending() == 1


async def test_what_was_erased_leaves_no_note_behind(here: Scene) -> None:
    with summarised_by(here.root, Echo(asks=True), inline=False):
        await talk(here, *(f"line {number}" for number in range(21)))
        assert await going_on(here)
        assert await due(here)
        await here.admin.erase("user:alice")
        assert await going_on(here) == []
        assert await due(here) == []
        assert await here.admin.summarize_pending() == 0
    for plane in (Plane.SESSION, Plane.TURN, Plane.SUMMARY, Plane.TODO, Plane.ENTITY):
        assert await rows(here.root, plane) == []
    assert (await talk(here, "Hello."))[0]["number"] == 1


async def test_only_who_may_write_takes_turns(here: Scene) -> None:
    watched = here.admin.justified("a complaint", as_user_id="alice")
    with pytest.raises(Forbidden):
        await watched.converse("Hello.")
    with pytest.raises(Forbidden):
        await here.alice.summarize_pending()


def test_a_session_is_idle_from_the_very_moment_on() -> None:
    session = Session(id="s", user="u", persona="p", started_at=Instant(0), last_activity_at=Instant(0))
    assert not session.is_idle(Instant(1_800_000_000 - 1))
    assert session.is_idle(Instant(1_800_000_000))
