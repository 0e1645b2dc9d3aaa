"""Master keys: what one seals opens in its own place, by its own key, unchanged, or not at all."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from foliot.auth.keyring import NAME, BadKeyFile, Keyring, derived, key_of, keyring_of
from foliot.core.secrets import CannotUnseal, Vault

OLD, NEW, OTHER = "old-" * 8, "new-" * 8, "other-master-key-of-32-characters"
PLACE = ("acme", "TOKEN", "1")
PLAIN = b"the value nobody may read"


def test_what_was_sealed_opens_in_its_place() -> None:
    ring: Vault = Keyring.of([NEW])
    key_id, sealed = ring.seal(PLAIN, *PLACE)

    assert key_id == ring.current
    assert PLAIN not in sealed
    assert ring.open(key_id, sealed, *PLACE) == PLAIN


def test_the_same_value_sealed_twice_looks_different() -> None:
    ring = Keyring.of([NEW])
    assert ring.seal(PLAIN, *PLACE) != ring.seal(PLAIN, *PLACE)


@pytest.mark.parametrize(
    "place",
    [("evil", "TOKEN", "1"), ("acme", "OTHER", "1"), ("acme", "TOKEN", "2"), ("acmeT", "OKEN", "1"), ("acme", "TOKEN")],
)
def test_a_seal_moved_to_another_place_does_not_open(place: tuple[str, ...]) -> None:
    ring = Keyring.of([NEW])
    key_id, sealed = ring.seal(PLAIN, *PLACE)

    with pytest.raises(CannotUnseal, match=r"^a sealed value cannot be decrypted$"):
        ring.open(key_id, sealed, *place)


def test_no_byte_can_be_changed() -> None:
    ring = Keyring.of([NEW])
    key_id, sealed = ring.seal(PLAIN, *PLACE)

    for index in range(len(sealed)):
        changed = bytearray(sealed)
        changed[index] ^= 1
        with pytest.raises(CannotUnseal):
            ring.open(key_id, bytes(changed), *PLACE)


@pytest.mark.parametrize("length", [0, 5, 11, 12, 27])
def test_a_stump_does_not_open(length: int) -> None:
    ring = Keyring.of([NEW])
    key_id, sealed = ring.seal(PLAIN, *PLACE)

    with pytest.raises(CannotUnseal):
        ring.open(key_id, sealed[:length], *PLACE)


def test_another_key_does_not_open_even_under_the_right_name() -> None:
    ring, stranger = Keyring.of([NEW]), Keyring.of([OTHER])
    key_id, sealed = ring.seal(PLAIN, *PLACE)

    for named in (key_id, stranger.current, "", "00000000"):
        with pytest.raises(CannotUnseal):
            stranger.open(named, sealed, *PLACE)


def test_after_a_rotation_the_new_key_seals_and_both_open() -> None:
    before, during, after = Keyring.of([OLD]), Keyring.of([NEW, OLD]), Keyring.of([NEW])
    old_id, old = before.seal(PLAIN, *PLACE)
    new_id, new = during.seal(PLAIN, *PLACE)

    assert during.open(old_id, old, *PLACE) == PLAIN
    assert new_id == after.current != before.current
    assert after.open(new_id, new, *PLACE) == PLAIN
    with pytest.raises(CannotUnseal):
        after.open(old_id, old, *PLACE)


def test_a_digest_is_found_by_one_of_the_keys_after_a_rotation() -> None:
    made = Keyring.of([OLD]).digest("api-key", "text")
    during = Keyring.of([NEW, OLD])

    assert made in during.digests("api-key", "text")
    assert during.digest("api-key", "text") == during.digests("api-key", "text")[0] != made


def test_no_two_purposes_share_a_key() -> None:
    ring = Keyring.of([NEW])
    master = ring.masters[0]

    assert ring.digest("api-key", "text") != ring.digest("ticket", "text")
    assert len({master.derive(purpose) for purpose in ("id", "seal", "digest/api-key", "digest/ticket")}) == 4


def test_a_keyring_shows_ids_and_no_keys() -> None:
    ring = Keyring.of([NEW, OLD, NEW])

    assert ring.ids == [master.id for master in ring.masters]
    assert len(ring.ids) == 2
    assert all(len(one) == 8 for one in ring.ids)
    assert "new-" not in repr(ring)
    assert ring.masters[0].derive("seal").hex() not in repr(ring)


@pytest.mark.parametrize("entries", [[], ["short"], [NEW, "x" * 31]])
def test_a_short_master_key_is_refused_without_being_shown(entries: list[str]) -> None:
    with pytest.raises(ValueError, match="at least 32 characters") as refused:
        Keyring.of(entries)
    assert "short" not in str(refused.value)


# --- the key file -----------------------------------------------------------------------------------------------------


def test_the_key_file_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    made = key_of(tmp_path / "home")

    assert len(made) >= 32
    assert key_of(tmp_path / "home") == made
    assert stat.S_IMODE((tmp_path / "home" / NAME).stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "home").iterdir()] == [NAME]


def test_processes_that_make_the_key_file_at_once_agree(tmp_path: Path) -> None:
    start, keys = threading.Barrier(8), list[str]()

    def make() -> None:
        start.wait()
        keys.append(key_of(tmp_path))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_file_that_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    made = key_of(tmp_path)
    (tmp_path / NAME).chmod(mode)

    with pytest.raises(BadKeyFile, match=r"can be read or written by others .*chmod 600") as refused:
        key_of(tmp_path)
    assert made not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff" * 40])
def test_a_damaged_key_file_is_refused_and_not_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    (tmp_path / NAME).chmod(0o600)

    with pytest.raises(BadKeyFile, match="must contain a key of at least 32 characters"):
        key_of(tmp_path)
    assert (tmp_path / NAME).read_bytes() == content


def test_a_link_is_no_key_file(tmp_path: Path) -> None:
    key_of(tmp_path / "elsewhere")
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere" / NAME)

    with pytest.raises(BadKeyFile, match="cannot be used as the key file"):
        key_of(tmp_path)


# --- which keys there are ---------------------------------------------------------------------------------------------


def test_local_mode_makes_its_key_file_at_first_need(tmp_path: Path) -> None:
    ring = keyring_of(keys=[], jwt_secret=None, home=tmp_path, local=True)

    assert ring is not None
    assert not (tmp_path / NAME).exists()
    key_id, sealed = ring.seal(PLAIN, *PLACE)
    assert Keyring.of([key_of(tmp_path)]).open(key_id, sealed, *PLACE) == PLAIN


def test_with_a_jwt_secret_the_key_is_derived_from_it(tmp_path: Path) -> None:
    ring = keyring_of(keys=[], jwt_secret="j" * 32, home=tmp_path, local=False)

    assert ring is not None
    assert ring.ids == Keyring.of([derived("j" * 32)]).ids != Keyring.of(["j" * 32]).ids
    assert not (tmp_path / NAME).exists()


def test_a_given_key_seals_and_what_went_before_still_opens(tmp_path: Path) -> None:
    local = keyring_of(keys=[], jwt_secret=None, home=tmp_path, local=True)
    tokens = keyring_of(keys=[], jwt_secret="j" * 32, home=tmp_path / "other", local=False)
    assert local is not None
    assert tokens is not None
    sealed = [local.seal(PLAIN, *PLACE), tokens.seal(PLAIN, *PLACE)]

    ring = keyring_of(keys=[NEW], jwt_secret="j" * 32, home=tmp_path, local=False)
    assert ring is not None
    assert ring.current == Keyring.of([NEW]).current
    assert [ring.open(key_id, one, *PLACE) for key_id, one in sealed] == [PLAIN, PLAIN]


def test_a_home_that_cannot_be_looked_into_is_no_matter_to_given_keys(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    for home in (tmp_path / "file", Path("/" + "x" * 300)):
        ring = keyring_of(keys=[NEW], jwt_secret=None, home=home, local=False)
        assert ring is not None
        assert ring.ids == Keyring.of([NEW]).ids


def test_without_anything_to_make_a_key_of_there_is_none(tmp_path: Path) -> None:
    assert keyring_of(keys=[], jwt_secret=None, home=tmp_path, local=False) is None
