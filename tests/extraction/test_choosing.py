"""Which extractor is made for the settings, and what is said of settings that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import ROOT
from tests.extraction.promises import passage_of

from recollect.backends.extraction import ExtractionOptions, LlmExtractor, RulesExtractor, Trouble, extractor_of
from recollect.config import Secret, Settings
from recollect.config.sources import load
from recollect.domain.errors import InvalidSetting
from recollect.main import extractor_from
from recollect.testing.chat import chatting, status

URL = "http://127.0.0.1:9/v1"
SECRET = "sk-hunter2-hunter2"


def test_the_rules_are_what_is_used_if_nothing_is_said() -> None:
    made = extractor_from(Settings())
    assert type(made) is RulesExtractor
    assert (made.name, made.asks) == ("rules", False)


def test_a_model_is_asked_as_the_settings_say() -> None:
    with chatting(*[status(500)] * 9) as server:
        made = extractor_from(
            Settings(
                extractor="llm",
                extractor_url=server.url,
                extractor_model="some-model",
                extractor_key=Secret(SECRET),
                extractor_seconds=10.0,
                extractor_attempts=2,
                extractor_tokens=99,
            )
        )
        assert type(made) is LlmExtractor
        assert (made.name, made.asks) == ("llm", True)
        made.extract(passage_of("My name is Ada"))
        made.close()
    assert [(each["model"], each["max_tokens"]) for each in server.asked] == [("some-model", 99)] * 2
    assert server.headers[0]["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"extractor": "magic"}, "extractor must be one of rules, llm"),
        ({"extractor": "llm"}, "needs extractor_url and extractor_model"),
        ({"extractor": "llm", "extractor_url": URL}, "needs extractor_url and extractor_model"),
        ({"extractor": "llm", "extractor_model": "m"}, "needs extractor_url and extractor_model"),
        ({"extractor_url": "http://example.com/v1"}, "extractor_url must begin with https://, or with http://"),
        ({"extractor_url": "https://[::1"}, "extractor_url must begin with https://"),
        ({"extractor_url": " "}, "extractor_url must be text that is not blank"),
        ({"extractor_model": ""}, "extractor_model must be text that is not blank"),
        ({"extractor_key": SECRET}, "extractor_key must be a Secret"),
        ({"extractor_seconds": 0}, "extractor_seconds must be a number from 0.1 to 600"),
        ({"extractor_attempts": 0}, "extractor_attempts must be a whole number from 1 to 10"),
        ({"extractor_attempts": 11}, "extractor_attempts must be a whole number from 1 to 10"),
        ({"extractor_tokens": 1 << 20}, "extractor_tokens must be a whole number from 64 to 16,384"),
    ],
)
def test_settings_that_cannot_be_say_what_to_do(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Settings(**given)
    assert said in caught.value.message
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/v1",
        "ftp://127.0.0.1",
        "https://",
        "https://example.com:99999",
        f"https://me:{SECRET}@example.com",
        f"https://example.com/?key={SECRET}",
    ],
)
def test_an_address_that_is_not_safe_is_refused(url: str) -> None:
    with pytest.raises(InvalidSetting, match="extractor_url must be") as caught:
        LlmExtractor(url, "some-model")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("key", [f"{SECRET}\n", f" {SECRET}", f"{SECRET}\r\nx: y", f"{SECRET}é", ""])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(InvalidSetting, match="extractor_key has characters that cannot be sent") as caught:
        LlmExtractor(URL, "some-model", key=key)
    assert SECRET not in f"{caught.value!r} {caught.value.__context__!r}"


def test_the_options_are_checked_without_settings_too_and_do_not_show_the_key() -> None:
    for options in (ExtractionOptions("llm"), ExtractionOptions("llm", URL), ExtractionOptions("magic")):
        with pytest.raises(InvalidSetting):
            extractor_of(options)
    assert SECRET not in repr(ExtractionOptions("llm", URL, "m", SECRET))


def test_the_key_comes_from_the_environment_as_a_secret(tmp_path: Path) -> None:
    found = load(tmp_path, environment={"RECOLLECT_EXTRACTOR_KEY": SECRET}, flags={}).settings
    assert found.extractor_key == Secret(SECRET)
    assert SECRET not in repr(found)


def test_the_guide_tells_of_every_trouble_and_of_no_other() -> None:
    lines = (ROOT / "docs/how-to/extract-with-a-model.md").read_text().splitlines()
    assert [line.split("`")[1] for line in lines if line.startswith("| `")] == list(Trouble)
