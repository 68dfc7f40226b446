"""Attacks that take more than the database: the log key, an old copy, a second log, a rules file, the read model.

Each takes a scene of its own to alter and a source of chance, and returns the commands of the auditor that see it, each
with the words that its output must hold, or None where this instance could not be made (try again with other chance).
Beside them stand the commands that cannot see it: what `docs/tamper-evidence.md` says of an attack is said here again.
"""

import contextlib
import hashlib
import io
import json
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from engines.registry import installed_game, installed_rules, rules_versions
from engines.rules import RulesFileError, load_rules
from ledger.checkpoints import sign_tree
from ledger.history import RoundEntry, build
from ledger.keys import VerifierKey, load_verifier_key, public_key_bytes
from ledger.rounds import RoundLedger
from replay.anchors import NO_KEY
from tests.attacks import open_for_attack, rebuild_log
from tests.rewriting import Append, Rewriting

__all__ = ["CAREFUL", "FORGERIES", "Scene", "Sight", "forge", "insider", "new_scene", "run_audit", "unseen"]

GAME = "moonlight-princess"
RULES_VERSION = rules_versions(GAME)[-1]
RULES = Path(__file__).resolve().parent.parent / "engines" / "games" / "moonlight_princess" / f"rules-{RULES_VERSION}.toml"


@dataclass(frozen=True)
class Scene:
    """A ledger with keys and read model, which the attacker has, and what the auditor keeps elsewhere."""

    ledger: Path
    keys: Path
    model: Path
    checkpoint: Path
    vkey: Path

    def copied(self, folder: Path) -> "Scene":
        """Copy what the attacker has into a folder; what the auditor keeps stays where it is."""
        shutil.copyfile(self.ledger, folder / "ledger.db")
        shutil.copytree(self.keys, folder / "keys")
        shutil.copyfile(self.model, folder / "model.db")
        return replace(self, ledger=folder / "ledger.db", keys=folder / "keys", model=folder / "model.db")


class Sight(NamedTuple):
    """A command, its exit status, words that its output must hold, and all its codes where they are to be no others."""

    arguments: tuple[object, ...]
    status: int
    words: str = ""
    codes: tuple[str, ...] | None = None


Forgery = Callable[[Scene, random.Random], Sequence[Sight] | None]


def new_scene(folder: Path, ledger: Path, keys: Path) -> Scene:
    """Return the scene of a ledger: read model built, checkpoint and verifier key handed over."""
    auditor = folder / "auditor"
    auditor.mkdir()
    scene = Scene(ledger, keys, folder / "model.db", auditor / "kept.checkpoint", auditor / "log.vkey")
    shutil.copyfile(keys / "log.vkey", scene.vkey)
    with RoundLedger.open_for_reading(ledger) as opened:
        build(opened, scene.model)
        scene.checkpoint.write_text(str(sign_tree(opened, keys).signed))
    return scene


@contextlib.contextmanager
def insider(ledger: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection to a ledger without its triggers, and put these back in the end: nothing is to show."""
    with closing(sqlite3.connect(ledger)) as connection:
        triggers = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid").fetchall()
    with closing(open_for_attack(str(ledger))) as connection:
        yield connection
        for (statement,) in triggers:
            connection.execute(statement)


def run_audit(*arguments: object) -> tuple[int, str]:
    """Run `audit` in this process; return its exit status and all that it printed."""
    from audit_reports.cli import main

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = int(end.code or 0)
    return status, out.buffer.getvalue().decode()  # type: ignore[attr-defined]


def unseen(sights: Sequence[Sight]) -> list[str]:
    """Return in words which commands did not say what they must."""
    missed = []
    for sight in sights:
        status, text = run_audit(*sight.arguments)
        codes = {line["code"] for line in map(json.loads, text.splitlines()) if "code" in line} if sight.codes is not None else set()
        if status != sight.status or sight.words not in text or codes != set(sight.codes or ()):
            missed.append(f"{sight.arguments[0]}: want {sight.status}, {sight.words!r}, {sight.codes}, got {status}, {text[:300]}")
    return missed


def held(scene: Scene, checkpoint: Path | None = None, vkey: Path | None = None) -> tuple[object, ...]:
    """The auditor's fsck, with the checkpoint and key that he keeps unless others are named."""
    return ("fsck", "--ledger", scene.ledger, "--checkpoint", checkpoint or scene.checkpoint, "--vkey", vkey or scene.vkey, "--json")


def alone(scene: Scene) -> Sight:
    """The ledger by itself: whole."""
    return Sight(("fsck", "--ledger", scene.ledger, "--json"), 0, codes=())


def put_back_old_copy(scene: Scene, chance: random.Random) -> Sequence[Sight] | None:
    """The state of an earlier moment, byte for byte what a backup of then holds."""
    with insider(scene.ledger) as connection:
        rewriting = Rewriting(connection)
        kept = chance.randrange(2, len(rewriting.appends))
        del rewriting.appends[kept:]
        rewriting.write(connection)
    return (
        alone(scene),
        Sight(held(scene), 3, "leaves, root", ("checkpoint_tree_short",)),
        Sight(("checkpoint", "--ledger", scene.ledger, "--keys", scene.keys), 3, f"leaves at least, got {kept}; nothing was signed"),
    )


def _alter_model(connection: sqlite3.Connection, chance: random.Random) -> tuple[str, str]:
    """Alter one thing in a read model; return the round and the field that a finding must name."""
    count = connection.execute("SELECT count(*) FROM rounds").fetchone()[0]
    row = connection.execute("SELECT * FROM rounds LIMIT 1 OFFSET ?", (chance.randrange(count),)).fetchone()
    round_id, way = row[0], chance.randrange(20)
    if way == 0:
        connection.execute("DELETE FROM rounds WHERE round_id = ?", (round_id,))
        return round_id, "row"
    if way == 1:
        added = f"{chance.getrandbits(128):032x}"
        connection.execute(f"INSERT INTO rounds VALUES ({','.join('?' * len(row))})", (added, *row[1:]))
        return added, "row"
    name = chance.choice(RoundEntry._fields[1:])
    field = name
    if way == 2:  # as a build that had not come so far: every row is then one too many
        connection.execute("UPDATE position SET leaf_count = ?", (chance.randrange(3),))
        field = "row"
    change = f"{name} + 1" if name.endswith(("_minor", "_us")) else f"{name} || 'x'"
    connection.execute(f"UPDATE rounds SET {name} = {change} WHERE round_id = ?", (round_id,))
    return round_id, field


def change_read_model(scene: Scene, chance: random.Random) -> Sequence[Sight] | None:
    """A field of a row of the read model, a row less or one more; also where the model then says that it has not come so far."""
    with closing(sqlite3.connect(scene.model, isolation_level=None)) as connection:
        round_id, field = _alter_model(connection, chance)
    compared = ("--ledger", scene.ledger, "--history", scene.model)
    return (
        Sight(("fsck", *compared, "--json"), 3, f"read model, round {round_id}, {field}: want", ("read_model",)),
        Sight(("history", *compared), 3, f"  round {round_id}, {field}: want"),
    )


def change_rules_file(scene: Scene, chance: random.Random) -> Sequence[Sight] | None:
    """One letter or digit of one value in the rules file."""
    lines = RULES.read_text().splitlines()
    number = chance.choice([place for place, line in enumerate(lines) if " = " in line and not line.startswith(("game", "#"))])
    name, _, value = lines[number].partition(" = ")
    value = value.partition("  # ")[0]
    places = [place for place, letter in enumerate(value) if letter.isalnum()]
    if not places:
        return None
    place = chance.choice(places)
    other = chance.choice([each for each in ("0123456789" if value[place].isdigit() else "WMBRxz") if each != value[place]])
    lines[number] = f"{name} = {value[:place]}{other}{value[place + 1 :]}"
    file = scene.ledger.with_name("rules.toml")
    file.write_text("\n".join(lines) + "\n")
    with closing(sqlite3.connect(scene.ledger)) as connection:
        count = connection.execute("SELECT count(*) FROM rounds").fetchone()[0]
        (round_id,) = connection.execute("SELECT round_id FROM rounds LIMIT 1 OFFSET ?", (chance.randrange(count),)).fetchone()
    verify = ("verify", "--ledger", scene.ledger, "--keys", scene.keys, "--round", round_id, "--rules", file, "--json")
    try:
        rules = load_rules(file)
    except RulesFileError:
        return (Sight(verify, 4, f"rules file {file}"),)
    if rules.rules_hash == installed_rules(GAME).rules_hash:
        return None  # a value written otherwise, such as 01
    wanted = installed_rules(GAME).rules_hash[:16]
    return (Sight(verify, 3, f"rules of {GAME} {RULES_VERSION}: want hash {wanted}…, got {rules.rules_hash[:16]}…"),)


def _go_on(scene: Scene, chance: random.Random) -> Path:
    """Record some more in a ledger and sign it; return the checkpoint."""
    with RoundLedger.open_for_writing(scene.ledger, scene.keys) as ledger:
        account_ref = ledger.account("ann").account_ref
        for _ in range(chance.randint(1, 4)):
            if chance.random() < 0.5:
                ledger.play(account_ref, installed_game(GAME), "base", 200)
            else:
                ledger.move_funds(account_ref, chance.randint(1, 1000))
    signed = scene.ledger.with_name("signed.checkpoint")
    status, text = run_audit("checkpoint", "--ledger", scene.ledger, "--keys", scene.keys, "-o", signed)
    assert status == 0, text
    return signed


def fork_log(scene: Scene, chance: random.Random) -> Sequence[Sight] | None:
    """Two logs grown apart from one, both signed by its key, each whole by itself and grown from what the auditor keeps."""
    (scene.ledger.parent / "fork").mkdir()
    fork = scene.copied(scene.ledger.parent / "fork")
    own, other = _go_on(scene, chance), _go_on(fork, chance)
    sights = [alone(scene), alone(fork), Sight(held(scene), 0, codes=()), Sight(held(fork), 0, codes=())]
    sizes = [int(path.read_text().splitlines()[1]) for path in (own, other)]
    for each, theirs, mine, place in ((scene, other, own, 0), (fork, own, other, 1)):
        code = "checkpoint_root" if sizes[1 - place] <= sizes[place] else "checkpoint_tree_short"
        sights += [Sight(held(each, mine), 0, codes=()), Sight(held(each, theirs), 3, "root", (code,))]
        # The log's own habit, had it kept what it signed for the other.
        kept = each.keys / "checkpoints" / "other.checkpoint"
        shutil.copyfile(theirs, kept)
        sights.append(Sight(("checkpoint", "--ledger", each.ledger, "--keys", each.keys), 3, f"of the kept checkpoint {kept}: want"))
    return sights


def replace_key_pair(scene: Scene, chance: random.Random) -> Sequence[Sight] | None:
    """Another key pair in keys folder and record, the log made anew over it and signed; in half of the cases something altered too."""
    seed = chance.getrandbits(256).to_bytes(32, "big")
    new_key = Ed25519PrivateKey.from_private_bytes(seed)
    name = load_verifier_key(scene.vkey).name
    with insider(scene.ledger) as connection:
        data = connection.execute("SELECT state FROM stored_events WHERE topic = 'ledger_created/1'").fetchone()[0]
        event = {**json.loads(data), "log_public_key": public_key_bytes(new_key).hex()}
        altered = json.dumps(event, sort_keys=True, separators=(",", ":")).encode()
        connection.execute("UPDATE stored_events SET state = ? WHERE topic = 'ledger_created/1'", (altered,))
        if chance.random() < 0.5:
            rewriting = Rewriting(connection)
            if not alter_win(rewriting, chance):
                return None
            rewriting.write(connection)
        else:
            rebuild_log(connection)
    (scene.keys / "log.key").write_bytes(new_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (scene.keys / "log.vkey").write_text(f"{VerifierKey(name, public_key_bytes(new_key))}\n")
    shutil.rmtree(scene.keys / "checkpoints")
    forged = scene.ledger.with_name("forged.checkpoint")
    status, text = run_audit("checkpoint", "--ledger", scene.ledger, "--keys", scene.keys, "-o", forged)
    assert status == 0, text
    return (
        alone(scene),
        Sight(held(scene, forged), 3, "key that the record names for its log: want", ("checkpoint_signature",)),
        Sight(held(scene, forged, scene.keys / "log.vkey"), 0, codes=()),  # what comes of taking the key from the forger
        Sight(("fsck", "--ledger", scene.ledger, "--checkpoint", forged), 0, NO_KEY),
        Sight(held(scene), 3, "signature", ("checkpoint_signature", "checkpoint_root")),
        Sight(("fsck", "--ledger", scene.ledger, "--checkpoint", scene.checkpoint), 3, "signature on checkpoint"),
        Sight(("fsck", "--ledger", scene.ledger, "--vkey", scene.vkey), 3, "key that the record names for its log: want"),
    )


def alter_win(rewriting: Rewriting, chance: random.Random) -> bool:
    """Raise what a round won."""
    settlement = rewriting.appends[chance.choice(rewriting.rounds())[1]]
    amount, last = chance.randint(1, 10_000), len(settlement.events) - 1
    settled = settlement.values(last)
    settlement.change(last, total_win_minor=settled["total_win_minor"] + amount, feature_win_minor=settled["feature_win_minor"] + amount)
    ends = [place for place, (topic, _) in enumerate(settlement.events) if topic == "spin_ended/1"]
    spin = settlement.values(ends[-1])
    settlement.change(ends[-1], award_minor=spin["award_minor"] + amount, total_minor=spin["total_minor"] + amount)
    return True


def drop_round(rewriting: Rewriting, chance: random.Random) -> bool:
    """Take a round away, bet and all."""
    opening, settlement = chance.choice(rewriting.rounds())
    del rewriting.appends[settlement], rewriting.appends[opening]
    return True


def drop_movement(rewriting: Rewriting, chance: random.Random) -> bool:
    """Take a withdrawal or deposit away, not the one that all is played from."""
    places = [place for place in rewriting.places("funds_moved/1") if abs(rewriting.appends[place].values(0)["amount_minor"]) < 10**6]
    if places:
        del rewriting.appends[chance.choice(places)]
    return bool(places)


def alter_movement(rewriting: Rewriting, chance: random.Random) -> bool:
    """Change the amount of a deposit or withdrawal."""
    append = rewriting.appends[chance.choice(rewriting.places("funds_moved/1"))]
    append.change(0, amount_minor=append.values(0)["amount_minor"] + chance.randint(1, 10_000))
    return True


def alter_time(rewriting: Rewriting, chance: random.Random) -> bool:
    """Move a bet in time, leaf and all: a little earlier, so that no order of times shows it."""
    append = rewriting.appends[chance.choice(rewriting.places("round_opened/1"))]
    append.recorded_at_us -= chance.randint(1, 100)
    append.change(0, opened_at_us=append.recorded_at_us)
    return True


def alter_player(rewriting: Rewriting, chance: random.Random) -> bool:
    """Put a round on another account."""
    append = rewriting.appends[chance.choice(rewriting.rounds())[0]]
    own = append.values(0)["account_ref"]
    others = [rewriting.appends[place].stream.removeprefix("account/") for place in rewriting.places("account_opened/1")]
    append.change(0, account_ref=chance.choice([ref for ref in others if ref != own]))
    return True


def swap_rounds(rewriting: Rewriting, chance: random.Random) -> bool:
    """Exchange the places of two rounds that follow each other, nonces and all."""
    rounds = rewriting.rounds()
    following = [(place, place + 2) for place, _ in rounds if (place + 2, place + 3) in rounds]
    first, second = chance.choice(following)
    rewriting.appends[first : first + 4] = rewriting.appends[second : second + 2] + rewriting.appends[first : first + 2]
    return True


def double_round(rewriting: Rewriting, chance: random.Random) -> bool:
    """Have a round a second time under another id, behind the first."""
    opening, settlement = chance.choice(rewriting.rounds())
    added = f"round/{chance.getrandbits(128):032x}"
    for place in (settlement, opening):
        rewriting.add(settlement + 1, added, rewriting.appends[place])
    bet = next(append for append in rewriting.appends if append.stream == added)
    bet.change(0, idempotency_key="")
    return True


def alter_commitment(rewriting: Rewriting, chance: random.Random) -> bool:
    """Commit an epoch to another seed, sealed anew under a key of the attacker's own."""
    append: Append = rewriting.appends[chance.choice(rewriting.places("epoch_committed/1"))]
    sealed = chance.randbytes(60)
    rewriting.sealed_seeds[append.values(0)["epoch"]] = sealed
    append.change(0, seed_commitment=f"{chance.getrandbits(256):064x}", sealed_seed_hash=hashlib.sha256(sealed).hexdigest())
    return True


CAREFUL = (
    alter_win,
    drop_round,
    drop_movement,
    alter_movement,
    alter_time,
    alter_player,
    swap_rounds,
    double_round,
    alter_commitment,
)


def rewrite_carefully(scene: Scene, chance: random.Random) -> Sequence[Sight] | None:
    """Alter one thing and have everything follow: balances, nonces, digests, rows, tree. The kept checkpoint alone sees it."""
    with insider(scene.ledger) as connection:
        rewriting = Rewriting(connection)
        before = len(rewriting.appends)
        if not chance.choice(CAREFUL)(rewriting, chance):
            return None
        rewriting.write(connection)
    code = "checkpoint_tree_short" if len(rewriting.appends) < before else "checkpoint_root"
    # One finding and no other: without the checkpoint there is none.
    return (
        Sight(held(scene), 3, "root", (code,)),
        Sight(("checkpoint", "--ledger", scene.ledger, "--keys", scene.keys), 3, "nothing was signed"),
    )


FORGERIES: dict[str, Forgery] = {
    "put back an old copy of the database": put_back_old_copy,
    "rewrite the ledger carefully, rows and digests too": rewrite_carefully,
    "change the read model": change_read_model,
    "change a rules file": change_rules_file,
    "two forks of one log": fork_log,
    "replace the key pair and sign everything anew": replace_key_pair,
}


def forge(name: str, scene: Scene, folder: Path, chance: random.Random) -> list[str]:
    """Make one instance of a forgery on a copy of a scene in `folder`; return what was not seen of it."""
    for _ in range(100):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            sights = FORGERIES[name](scene.copied(Path(place)), chance)
            if sights is not None:
                return unseen(sights)
    raise AssertionError(f"no instance of {name!r} could be made")
