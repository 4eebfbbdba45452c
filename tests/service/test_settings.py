"""Settings from flags, the environment and a file: which one counts, what is refused, and what may change live."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from recollect.config import Secret, Settings
from recollect.config.sources import FILE, NOT_SETTINGS, Loaded, Watch, changed, home, load, template
from recollect.domain.errors import InvalidSetting

SECRET = "hunter2-hunter2-hunter2"
JWT = {"RECOLLECT_JWT_ISSUER": "me", "RECOLLECT_JWT_AUDIENCE": "you"}


def loaded(
    folder: Path,
    file: str | bytes | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    *,
    mode: int = 0o600,
) -> Loaded:
    if file is not None:
        (folder / FILE).write_bytes(file if isinstance(file, bytes) else file.encode())
        (folder / FILE).chmod(mode)
    return load(folder, environment=environment or {}, flags=flags or {})


def refusal(
    folder: Path,
    file: str | bytes | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    *,
    mode: int = 0o600,
) -> str:
    with pytest.raises(InvalidSetting) as caught:
        loaded(folder, file, environment, flags, mode=mode)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value.message


# -- which one counts


def test_without_any_source_the_defaults_count(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    assert found.settings == Settings()
    assert set(found.origin.values()) == {"default"}
    assert set(found.origin) == {each.name for each in dataclasses.fields(Settings)}
    assert found.file == tmp_path / FILE


def test_a_flag_goes_before_the_environment_before_the_file(tmp_path: Path) -> None:
    file = "port = 1001\nhost = '127.0.0.2'\nlog_level = 'debug'\n"
    environment = {"RECOLLECT_PORT": "1002", "RECOLLECT_HOST": "127.0.0.3"}
    found = loaded(tmp_path, file, environment, {"port": 1003, "host": None})
    assert (found.settings.port, found.settings.host, found.settings.log_level) == (1003, "127.0.0.3", "debug")
    origins = {name: found.origin[name] for name in ("port", "host", "log_level", "max_depth")}
    assert origins == {"port": "flag", "host": "environment", "log_level": "file", "max_depth": "default"}


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("PORT", "80", 80),
        ("PORT", " 1_080 ", 1080),
        ("RATE_PER_SECOND", "2.5", 2.5),
        ("RATE_PER_SECOND", "1e3", 1000.0),
        ("ALLOW_PLAIN_HTTP", "true", True),
        ("ALLOW_PLAIN_HTTP", "YES", True),
        ("ALLOW_PLAIN_HTTP", "1", True),
        ("ALLOW_PLAIN_HTTP", "False", False),
        ("ALLOW_PLAIN_HTTP", "no", False),
        ("ALLOW_PLAIN_HTTP", "0", False),
        ("FILTERABLE_ATTRIBUTES", "topic, kind,", ("topic", "kind")),
        ("FILTERABLE_ATTRIBUTES", "", ()),
        ("KEEP_EVENTS_SECONDS", "60", 60),
        ("KEEP_SUPERSEDED_SECONDS", "none", None),
        ("KEEP_SUPERSEDED_SECONDS", "None", None),
        ("KEEP_SUPERSEDED_SECONDS", "", None),
        ("MASTER_KEY_COMMAND", "print it", "print it"),
        ("MASTER_KEY_COMMAND", "none", None),
        ("JWT_KEY", "", None),
    ],
)
def test_text_is_read_by_the_type_of_its_setting(tmp_path: Path, variable: str, text: str, value: object) -> None:
    found = loaded(tmp_path, environment={f"RECOLLECT_{variable}": text}).settings
    assert getattr(found, variable.lower()) == value
    assert type(getattr(found, variable.lower())) is type(value)
    assert loaded(tmp_path, flags={variable.lower(): text}).settings == found


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("port = 80", "port", 80),
        ("rate_per_second = 5", "rate_per_second", 5),
        ("allow_plain_http = true", "allow_plain_http", True),
        ('filterable_attributes = ["a", "b"]', "filterable_attributes", ("a", "b")),
        ('keep_superseded_seconds = "none"', "keep_superseded_seconds", None),
        ('# a remark\nhost = "127.0.0.9"', "host", "127.0.0.9"),
        ('\ufeffhost = "127.0.0.9"', "host", "127.0.0.9"),
    ],
)
def test_the_file_is_toml(tmp_path: Path, line: str, name: str, value: object) -> None:
    assert getattr(loaded(tmp_path, line).settings, name) == value


def test_a_secret_from_any_source_cannot_print_itself(tmp_path: Path) -> None:
    for found in (
        loaded(tmp_path, environment={"RECOLLECT_JWT_KEY": SECRET} | JWT),
        loaded(tmp_path, environment=JWT, flags={"jwt_key": Secret(SECRET)}),
        loaded(tmp_path, f'jwt_key = "{SECRET}"', JWT),
    ):
        assert found.settings.jwt_key == Secret(SECRET)
        assert SECRET not in repr(found)


# -- what is refused


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"RECOLLECT_PORT": "many"}, "RECOLLECT_PORT: port must be a whole number, not 'many'"),
        ({"RECOLLECT_PORT": ""}, "RECOLLECT_PORT: port must be a whole number, not ''"),
        ({"RECOLLECT_PORT": "٤٢"}, "RECOLLECT_PORT: port must be a whole number, not '٤٢'"),
        ({"RECOLLECT_PORT": "9" * 5_000}, "RECOLLECT_PORT: port must be a whole number, not '999"),
        ({"RECOLLECT_PORT": "70000"}, "RECOLLECT_PORT: port must be a whole number from 0 to 65,535, not 70000"),
        ({"RECOLLECT_RATE_PER_SECOND": "nan"}, "RECOLLECT_RATE_PER_SECOND: rate_per_second must be a number from 0"),
        ({"RECOLLECT_ALLOW_PLAIN_HTTP": "maybe"}, "RECOLLECT_ALLOW_PLAIN_HTTP: allow_plain_http must be true or fal"),
        (
            {"RECOLLECT_LOG_LEVEL": "port", "RECOLLECT_PORT": "80"},
            "RECOLLECT_LOG_LEVEL: log_level must be one of debug, info, warning, error, not 'port'",
        ),
        ({"RECOLLECT_PROT": "1"}, "there is no setting 'RECOLLECT_PROT'; did you mean RECOLLECT_PORT?"),
        ({"RECOLLECT_port": "1"}, "there is no setting 'RECOLLECT_port'; did you mean RECOLLECT_PORT?"),
        ({"RECOLLECT_XYZZY": SECRET}, "there is no setting 'RECOLLECT_XYZZY'; the reference lists every setting"),
        ({"RECOLLECT_": "1"}, "there is no setting 'RECOLLECT_'; the reference"),
    ],
)
def test_a_variable_that_is_wrong_is_named(tmp_path: Path, environment: dict[str, str], said: str) -> None:
    assert refusal(tmp_path, environment=environment).startswith(said)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("port = 'x'", "recollect.toml: port must be a whole number, not 'x'"),
        ("port = true", "recollect.toml: port must be a whole number, not True"),
        ("port = 1.5", "recollect.toml: port must be a whole number, not 1.5"),
        ("port = 0x" + "f" * 5_000, "recollect.toml: port must be a whole number, not a number of 20,000 bits"),
        ("port = " + "9" * 5_000, "recollect.toml: a number is too long"),
        ("port = -1", "recollect.toml: port must be a whole number from 0 to 65,535, not -1"),
        ("rate_per_second = inf", "recollect.toml: rate_per_second must be a number from 0 to 1e+09, not inf"),
        ("host = 5", "recollect.toml: host must be text, not 5"),
        ("filterable_attributes = [1]", "recollect.toml: filterable_attributes must be a list of texts, not [1]"),
        ("allow_plain_http = 1", "recollect.toml: allow_plain_http must be true or false, not 1"),
        ("prot = 1", "recollect.toml: there is no setting 'prot'; did you mean port?"),
        ("PORT = 1", "recollect.toml: there is no setting 'PORT'; did you mean port?"),
        ("[recollect]\nport = 1", "recollect.toml: settings are flat, like `port = 4747`; remove the table 'recol"),
        ("a = " + "[" * 9_000, "recollect.toml: a number is too long, or lists are nested too deeply"),
        (b"port = 1\n\n# caf\xe9", "recollect.toml: line 3 is not UTF-8; save the file in that encoding"),
        ("host = 'x'\nport =\n", "recollect.toml: line 2: Invalid value; write one `name = value` on a line"),
        ("port = 1\nport = 2", "recollect.toml: line 2: Cannot overwrite a value; write one"),
        ("port", "recollect.toml: line 1: Expected '=' after a key"),
        (f"jwt_key = {SECRET}", "recollect.toml: line 1: Invalid value;"),
        ("jwt_key = 5", "recollect.toml: jwt_key must be text"),
        (f"jwt_key = ['{SECRET}']", "recollect.toml: jwt_key must be text"),
        (f"jwt_kye = '{SECRET}'", "recollect.toml: there is no setting 'jwt_kye'; did you mean jwt_key?"),
    ],
)
def test_a_file_that_is_wrong_says_where_and_what_to_do(tmp_path: Path, file: str | bytes, said: str) -> None:
    assert refusal(tmp_path, file).startswith(said)


def test_a_flag_that_is_wrong_is_named_as_it_is_typed(tmp_path: Path) -> None:
    assert refusal(tmp_path, flags={"max_depth": 0}).startswith("--max-depth: max_depth must be a whole number from 1")
    assert refusal(tmp_path, flags={"max_dept": 5}) == "there is no setting '--max-dept'; did you mean --max-depth?"


def test_settings_that_do_not_fit_together_name_every_source(tmp_path: Path) -> None:
    said = refusal(tmp_path, "jwks_file = 'keys.json'", {"RECOLLECT_JWT_KEY": SECRET} | JWT)
    assert said == "RECOLLECT_JWT_KEY, recollect.toml: give one way to check JWTs, not jwt_key and jwks_file"
    assert refusal(tmp_path, "tls_key = 'k.pem'").startswith("recollect.toml: tls_certificate and tls_key belong")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_file_with_a_secret_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    assert "chmod 600" in refusal(tmp_path, f'jwt_key = "{SECRET}"', JWT, mode=mode)
    assert loaded(tmp_path, 'host = "127.0.0.1"', mode=mode).settings == Settings()


def test_a_file_that_cannot_be_read_is_not_taken_for_no_file(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to(tmp_path / FILE)
    assert "cannot be read" in refusal(tmp_path)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_not_a_file_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / FILE)
    assert refusal(tmp_path).endswith("is not a file")


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    assert "cannot be read" in refusal(tmp_path / "taken")


@pytest.mark.parametrize(
    "environment",
    [
        dict.fromkeys(NOT_SETTINGS, "x"),
        {"RECOLLECT_TEST_POSTGRES": "x", "PATH": "x", "MY_RECOLLECT_X": "x"},
        # what Kubernetes and Docker set for a service called "recollect", or "recollect-api"
        {"RECOLLECT_SERVICE_HOST": "10.0.0.1", "RECOLLECT_SERVICE_PORT": "4747", "RECOLLECT_SERVICE_PORT_HTTP": "47"},
        {"RECOLLECT_PORT": "tcp://10.0.0.1:4747", "RECOLLECT_PORT_4747_TCP_ADDR": "10.0.0.1"},
        {"RECOLLECT_API_PORT": "tcp://10.0.0.1:4747", "RECOLLECT_API_PORT_4747_TCP": "tcp://10.0.0.1:4747"},
    ],
)
def test_variables_that_are_no_settings_are_left_alone(tmp_path: Path, environment: dict[str, str]) -> None:
    assert loaded(tmp_path, environment=environment).settings == Settings()


# -- the home


def test_the_home_is_named_or_below_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home({}) == home({"RECOLLECT_HOME": " "}) == tmp_path / ".recollect"
    assert home({"RECOLLECT_HOME": "~/elsewhere"}) == tmp_path / "elsewhere"
    assert home({"RECOLLECT_HOME": "here"}) == Path.cwd() / "here"


def test_a_user_without_a_home_is_told_what_to_set() -> None:
    with pytest.raises(InvalidSetting, match="RECOLLECT_HOME: there is no home directory"):
        home({"RECOLLECT_HOME": "~nobody-has-this-name/data"})


# -- changing


def test_what_changed_is_told_apart_by_whether_it_needs_a_restart() -> None:
    old = Settings()
    new = Settings(port=1, log_level="debug", rate_per_second=1, reader_threads=3)
    assert changed(old, new) == (["rate_per_second", "log_level"], ["reader_threads", "port"])
    assert changed(old, Settings()) == ([], [])


def test_a_change_of_a_secret_is_a_change() -> None:
    old, new = (Settings(jwt_key=Secret(key), jwt_issuer="a", jwt_audience="b") for key in ("one", "two"))
    assert changed(old, new) == ([], ["jwt_key"])


def test_every_way_to_change_the_file_is_noticed_once(tmp_path: Path) -> None:
    file, beside = tmp_path / FILE, tmp_path / "new"
    watch = Watch(file)
    assert not watch.poll()
    file.write_text("port = 1")
    assert [watch.poll(), watch.poll()] == [True, False]
    file.write_text("port = 12")
    assert [watch.poll(), watch.poll()] == [True, False]
    os.utime(file, ns=(1, 1))
    assert [watch.poll(), watch.poll()] == [True, False]
    beside.write_text("port = 34")
    os.utime(beside, ns=(1, 1))
    beside.replace(file)  # the same size and time, but another file
    assert [watch.poll(), watch.poll()] == [True, False]
    file.unlink()
    assert [watch.poll(), watch.poll()] == [True, False]


def test_a_link_that_is_pointed_elsewhere_is_a_change(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("port = 1")
        os.utime(tmp_path / name, ns=(1, 1))
    file, beside = tmp_path / FILE, tmp_path / "beside"
    file.symlink_to(tmp_path / "one")
    watch = Watch(file)
    beside.symlink_to(tmp_path / "two")
    beside.replace(file)
    assert watch.poll()


def test_a_file_caught_half_written_is_refused_and_then_noticed_again(tmp_path: Path) -> None:
    file = tmp_path / FILE
    watch = Watch(file)
    before = loaded(tmp_path).settings
    file.write_text("rate_per_second = 5\nlog_level = 'deb")
    assert watch.poll()
    assert "line 2" in refusal(tmp_path)
    file.write_text("rate_per_second = 5\nlog_level = 'debug'")
    assert watch.poll()
    assert changed(before, loaded(tmp_path).settings) == (["rate_per_second", "log_level"], [])


# -- the template


def test_the_template_changes_nothing_as_it_stands(tmp_path: Path) -> None:
    found = loaded(tmp_path, template(), mode=0o644)
    assert found.settings == Settings()
    assert set(found.origin.values()) == {"default"}


def test_the_template_with_every_remark_sign_removed_says_the_defaults(tmp_path: Path) -> None:
    found = loaded(tmp_path, re.sub(r"^#(?=\w)", "", template(), flags=re.MULTILINE))
    assert found.settings == Settings()
    assert set(found.origin.values()) == {"file"}


def test_the_template_gives_every_meaning_in_lines_that_fit() -> None:
    text = template()
    told = " ".join(line.removeprefix("# ") for line in text.splitlines())
    for each in dataclasses.fields(Settings):
        assert each.metadata["meaning"] in told
    assert max(map(len, text.splitlines())) <= 120
