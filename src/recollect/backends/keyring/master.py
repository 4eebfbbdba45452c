"""Master keys: from a file that only its owner can read, or from a command that prints one."""

from __future__ import annotations

import base64
import binascii
import json
import os
import secrets
import shlex
import subprocess
from hashlib import sha256
from pathlib import Path

from recollect.domain.errors import InvalidSetting, MasterKeyMissing

KEY_BYTES = 32
_COMMAND_SECONDS = 30


def master_name(key: bytes) -> str:
    """A short name for a master key that gives nothing of it away."""
    return sha256(b"recollect-master/1" + key).hexdigest()[:16]


class FileMasterKeys:
    """Master keys in a JSON file of mode 0600: the current one, and during a rotation the one before."""

    def __init__(self, path: Path, *, create: bool) -> None:
        self._path = path
        if create and not path.exists():
            self._write([secrets.token_bytes(KEY_BYTES)], fresh=True)
        self._keys = self._read()

    def current(self) -> tuple[str, bytes]:
        """Name and bytes of the master key that wraps; read anew, since another process may rotate it."""
        self._keys = self._read()
        name = next(iter(self._keys))
        return name, self._keys[name]

    def named(self, name: str) -> bytes | None:
        """The bytes of a master key by name; the file is read again when the name is new."""
        if name not in self._keys:
            self._keys = self._read()
        return self._keys.get(name)

    def begin_rotation(self) -> None:
        """Put a fresh key first and keep the others, so that both open while keys are re-wrapped."""
        if len(self._keys) == 1:
            self._write([secrets.token_bytes(KEY_BYTES), *self._keys.values()])
        self._keys = self._read()

    def finish_rotation(self) -> None:
        """Forget every key but the current one."""
        self._write([self.current()[1]])
        self._keys = self._read()

    def _read(self) -> dict[str, bytes]:
        try:
            found = json.loads(self._path.read_text())["keys"]
            keys = [base64.b64decode(text, validate=True) for text in found]
        except FileNotFoundError:
            raise MasterKeyMissing(f"there is no master key at {self._path}") from None
        except (ValueError, KeyError, TypeError):
            raise MasterKeyMissing(f"{self._path} does not hold a master key") from None
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise MasterKeyMissing(f"{self._path} does not hold a master key")
        return {master_name(key): key for key in keys}

    def _write(self, keys: list[bytes], *, fresh: bool = False) -> None:
        text = json.dumps({"keys": [base64.b64encode(key).decode() for key in keys]})
        beside = self._path.with_name(f"{self._path.name}.{secrets.token_hex(4)}")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, text.encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        if fresh:
            try:
                os.link(beside, self._path)  # the first of several processes wins, none overwrites
            except FileExistsError:
                pass
            beside.unlink()
        else:
            beside.rename(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class CommandMasterKeys:
    """A master key printed by a command, such as a secret manager's client; `previous` only unwraps."""

    def __init__(self, command: str, previous: str | None = None) -> None:
        key = _printed(command)
        self._current = master_name(key)
        self._keys = {self._current: key}
        if previous is not None:
            old = _printed(previous)
            self._keys[master_name(old)] = old

    def current(self) -> tuple[str, bytes]:
        """Name and bytes of the master key that wraps."""
        return self._current, self._keys[self._current]

    def named(self, name: str) -> bytes | None:
        """The bytes of a master key by name."""
        return self._keys.get(name)


def _printed(command: str) -> bytes:
    try:
        words = shlex.split(command)
        ran = subprocess.run(words, capture_output=True, timeout=_COMMAND_SECONDS, check=False)  # noqa: S603
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        raise MasterKeyMissing(f"the master key command could not be run: {type(problem).__name__}") from None
    if ran.returncode != 0:
        raise MasterKeyMissing(f"the master key command ended with status {ran.returncode}")
    text = ran.stdout.strip()
    for decode in (bytes.fromhex, _base64):
        try:
            key = decode(text.decode("ascii"))
        except ValueError:
            continue
        if len(key) == KEY_BYTES:
            return key
    raise InvalidSetting(f"the master key command must print {KEY_BYTES} bytes in hexadecimal or base64")


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as problem:
        raise ValueError(str(problem)) from None
