"""Logins on the disk: sealed, for their user alone, and replaced as a whole."""

from __future__ import annotations

import asyncio
import shutil
import stat
import sys
import threading

import pytest
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from fixtures.failsafe import FAILSAFE_S
from louver.errors import LoginFailed
from louver.team.login.login import Login
from louver.team.login.stores import folder as folder_module
from louver.team.login.stores import seal_key
from louver.team.login.stores.folder import LoginFolder

pytestmark = pytest.mark.anyio

LOGIN = Login(
    tokens=OAuthToken(access_token="canary-access", refresh_token="canary-refresh", expires_in=60),
    client=OAuthClientInformationFull(client_id="louver", client_secret="canary-client"),
    metadata=None,
    resource=None,
    issuer="https://auth.example",
    challenge=None,
    obtained_at=1.0,
)

KEY = "5f0c2d6e9a1b3c47"

KEYRING = """
from keyring.backend import KeyringBackend
class Backend(KeyringBackend):
    priority = 1
    kept = {}
    def get_password(self, service, username): return self.kept.get((service, username))
    def set_password(self, service, username, password): self.kept[service, username] = password
    def delete_password(self, service, username): del self.kept[service, username]
"""


@pytest.fixture
def no_keyring(monkeypatch):
    keyring = pytest.importorskip("keyring")
    from keyring.backends.fail import Keyring

    monkeypatch.setattr(keyring, "get_keyring", Keyring)
    monkeypatch.setattr(keyring.core, "_keyring_backend", Keyring())


@pytest.fixture
def own_keyring(monkeypatch, tmp_path):
    import keyring

    (tmp_path / "own_keyring.py").write_text(KEYRING)
    monkeypatch.syspath_prepend(tmp_path)
    import own_keyring

    monkeypatch.setattr(keyring.core, "_keyring_backend", own_keyring.Backend())
    yield own_keyring.Backend.kept
    del sys.modules["own_keyring"]


async def test_a_login_is_read_by_another_process_of_the_same_user(no_keyring, tmp_path):
    """Ours: without a keyring the key is in a file."""
    folder = tmp_path / "state" / "logins"
    await LoginFolder(folder).write("one", LOGIN)
    assert await LoginFolder(folder).read("one") == LOGIN
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.iterdir()]}
    assert modes == {"logins": 0o700, "one": 0o600, "key": 0o600, "key.lock": 0o600}
    assert not [path for path in folder.iterdir() if b"canary" in path.read_bytes()]


async def test_the_key_is_in_the_keyring_where_there_is_one(own_keyring, tmp_path):
    """Step 17."""
    folder = tmp_path / "logins"
    await LoginFolder(folder).write("one", LOGIN)
    assert await LoginFolder(folder).read("one") == LOGIN
    assert own_keyring.keys() == {("louver", str(folder))}
    assert not (folder / "key").exists()
    own_keyring.clear()
    with pytest.raises(LoginFailed, match="does not open by the key that this process has"):
        await LoginFolder(folder).read("one")


async def test_a_keyring_that_waits_for_somebody_is_not_waited_for(own_keyring, tmp_path, monkeypatch):
    """Ours: the key is then in a file."""
    import own_keyring as module

    ended = threading.Event()
    monkeypatch.setattr(seal_key, "KEYRING_S", 0.05)
    monkeypatch.setattr(module.Backend, "get_password", lambda *_: ended.wait(FAILSAFE_S))
    await LoginFolder(tmp_path / "logins").write("one", LOGIN)
    ended.set()
    assert (tmp_path / "logins" / "key").exists()


async def test_a_keyring_that_waits_is_asked_once(own_keyring, tmp_path, monkeypatch):
    """Ours: each question may show a window, and holds a thread."""
    import own_keyring as module

    asked, ended = [], threading.Event()
    folder = tmp_path / "logins"
    await LoginFolder(folder).write(KEY, LOGIN)
    monkeypatch.setattr(seal_key, "KEYRING_S", 0.05)
    monkeypatch.setattr(module.Backend, "get_password", lambda *_: asked.append(1) or (ended.wait(FAILSAFE_S) and None))
    for _ in range(3):
        with pytest.raises(LoginFailed, match="does not open by the key that this process has"):
            await LoginFolder(folder).read(KEY)
    ended.set()
    assert len(asked) == 1


async def test_logins_whose_key_is_in_a_keyring_get_no_other_beside_it(own_keyring, tmp_path, monkeypatch):
    """Ours: where the keyring is not there, over ssh say, a key in a file would shut out all logins before it."""
    import keyring
    from keyring.backends.fail import Keyring

    folder = tmp_path / "logins"
    await LoginFolder(folder).write(KEY, LOGIN)
    with monkeypatch.context() as patched:
        patched.setattr(keyring.core, "_keyring_backend", Keyring())
        with pytest.raises(LoginFailed, match="is in the system's keyring, which does not answer here: unlock it"):
            await LoginFolder(folder).write("0" * 16, LOGIN)
    assert await LoginFolder(folder).read(KEY) == LOGIN


async def test_a_login_opens_under_its_own_name_alone(no_keyring, tmp_path):
    """Ours: a file that is moved is not another server's login."""
    store = LoginFolder(tmp_path)
    await store.write("one", LOGIN)
    (tmp_path / "one").rename(tmp_path / "other")
    with pytest.raises(LoginFailed, match="does not open"):
        await store.read("other")
    assert await store.read("one") is None


async def test_a_key_that_was_made_again_opens_logins_at_once(no_keyring, tmp_path):
    """Step 19: a gateway that was running refused what was written since, and wrote what nobody else could open."""
    running, folder = LoginFolder(tmp_path / "logins"), tmp_path / "logins"
    await running.write("one", LOGIN)
    shutil.rmtree(folder)
    await LoginFolder(folder).write("two", LOGIN)
    assert await running.read("two") == LOGIN
    shutil.rmtree(folder)
    await LoginFolder(folder).write("two", LOGIN)
    await running.write("one", LOGIN)
    assert await LoginFolder(folder).read("one") == LOGIN


@pytest.mark.parametrize("name", ["one", "key"])
async def test_a_file_that_others_can_read_is_refused(name, no_keyring, tmp_path):
    """Ours."""
    await LoginFolder(tmp_path).write("one", LOGIN)
    (tmp_path / name).chmod(0o644)
    with pytest.raises(LoginFailed, match="600"):
        await LoginFolder(tmp_path).read("one")


async def test_a_folder_that_cannot_be_written_is_named(no_keyring, tmp_path):
    """Ours."""
    (tmp_path / "file").touch()
    store = LoginFolder(tmp_path / "file" / "logins")
    assert await store.stamp("one") is None
    assert await store.read("one") is None
    with pytest.raises(LoginFailed, match="cannot be written"):
        await store.write("one", LOGIN)
    with pytest.raises(LoginFailed, match="cannot be written"):
        async with store.locked("one"):
            pass


async def test_one_process_at_a_time_changes_a_login(tmp_path, monkeypatch):
    """Ours: and the others do not wait for ever."""
    monkeypatch.setattr(folder_module, "LOGIN_LOCK_WAIT_S", 0.05)
    one, other = LoginFolder(tmp_path), LoginFolder(tmp_path)
    async with one.locked("a"):
        async with other.locked("b"):
            pass
        with pytest.raises(LoginFailed, match="another process has held"):
            async with other.locked("a"):
                pass
    async with asyncio.timeout(FAILSAFE_S), other.locked("a"):
        pass
