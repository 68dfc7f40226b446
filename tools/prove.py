"""The long lane: what must hold over many rounds, faults and random cases; every count is an option.

Without options the counts fit a continuous build; `--full` takes those that the issues name and writes what was measured
to docs/measured/, with commit, seed and machine.
"""

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from engines.digest import PINNED_ROUNDS  # noqa: E402
from engines.registry import GAMES, exact_return, game_of_rules, installed_rules  # noqa: E402
from engines.rng import round_key  # noqa: E402
from engines.rules import GameRules  # noqa: E402
from engines.simulate import Sums, estimate_return, simulate  # noqa: E402
from ledger.copying import copy_ledger  # noqa: E402
from ledger.fsck import check_ledger  # noqa: E402
from ledger.rounds import RoundLedger  # noqa: E402
from tests.attacks import ATTACKS, attack, is_named  # noqa: E402
from tests.forgeries import FORGERIES, Scene, forge, new_scene  # noqa: E402
from tests.growth import OTHER_PYTHON, live  # noqa: E402

GAME = "moonlight-princess"
SEED = bytes(range(32))
MODES = ("base", "ante", "buy")
BET_MINOR = 40
WORST_CHOICE = 0.0025  # how much lower than the target the return with the worst choice may be
FILES = {"planted": "planted-faults"}  # where the file of a proof has another name
RARE_TRIES = 100  # rounds played at most for each that is wanted
PRINTED_MAX = 4000  # characters of what was measured
POSTGRES_FAULT_TESTS = 5  # the kills on PostgreSQL are shared out among them


class ProofError(Exception):
    """Something that must hold does not."""

    def __init__(self, proof: str, wanted: str, found: str) -> None:
        super().__init__(proof, wanted, found)
        self.proof, self.wanted, self.found = proof, wanted, found

    def __str__(self) -> str:
        return f"{self.proof}: want {self.wanted}, got {self.found}"


def expect(proof: str, wanted: Any, found: Any) -> None:
    """Raise ProofError where the two are not equal."""
    if wanted != found:
        raise ProofError(proof, str(wanted)[:300], str(found)[:300])


def audit(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    program = "import sys; from audit_reports.cli import main\nif __name__ == '__main__': main(sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], env=environment, capture_output=True, text=True)


def _play_modes(ledger: Path, game: str, round_count: int) -> dict[str, Any]:
    """Play rounds of each mode of a game, with each choice where its rounds wait for one, and return what they came to."""
    played = {}
    rules = installed_rules(game)
    for mode, choice in product(rules.modes, rules.choice_names or ("",)):
        started = time.perf_counter()
        terms = ["--game", game, "--mode", mode.name, *(["--choice", choice] if choice else [])]
        done = audit("play", "--ledger", ledger, *terms, "--rounds", round_count, "--json")
        expect(f"play {' '.join(terms)}", (0, ""), (done.returncode, "" if not done.returncode else done.stderr[-300:]))
        total = json.loads(done.stdout.splitlines()[-1])
        seconds = round(time.perf_counter() - started, 1)
        name = f"{mode.name} {choice}".strip()
        played[name] = {"win_minor": total["win_minor"], "cost_minor": total["cost_minor"], "seconds": seconds}
    return played


def prove_rounds(options: argparse.Namespace) -> dict[str, Any]:
    """Play rounds of each mode of each game, with each choice, into a ledger; `verify --all` with the referee finds nothing."""
    games = {}
    for game in GAMES:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            ledger = Path(name) / "ledger.db"
            audit("init", "--ledger", ledger)
            played = _play_modes(ledger, game, options.rounds)
            started = time.perf_counter()
            done = audit("verify", "--ledger", ledger, "--all", "--referee", "--json")
            seconds = round(time.perf_counter() - started, 1)
            lines = done.stdout.splitlines()
            expect(f"exit status of verify --all of {game}, and its lines", (0, lines[-1:]), (done.returncode, lines))
            summary = json.loads(lines[-1])
            expect("verdicts", {"reproduced": len(played) * options.rounds}, summary["verdicts"])
            expect("findings", (0, []), (summary["finding_count"], summary["ledger_findings"]))
            expect("total win", sum(mode["win_minor"] for mode in played.values()), summary["win_minor"]["EUR"])
            games[game] = {"played": played, "verify_all_seconds": seconds, "warnings": summary["warning_count"]}
    return {"rounds_per_mode": options.rounds, "games": games}


def prove_rare(options: argparse.Namespace) -> dict[str, Any]:
    """In so many rounds that reach each rare thing by test rules the referee finds nothing, and the totals are those it allows."""
    from tests.stargazing_rules import RARE

    reached = {}
    for name, (rules, what, least) in RARE.items():
        game, state, found, nonce = game_of_rules(rules), rules.first_state, 0, 0
        game.compile()
        while found < options.rare:
            expect(f"rounds with {name} within the first {nonce}", True, nonce < RARE_TRIES * options.rare)
            choices = (nonce % len(rules.choice_names),)
            outcome = game.play(round_key(SEED, rules.game, "", nonce), "base", 2 * rules.bet.coins, state, choices)
            found += _referee_told(f"{name}, nonce {nonce}", rules, outcome, state, choices)[what] >= least
            nonce, state = nonce + 1, outcome.state_out
        reached[name] = {"rounds": nonce, "with it": found}
    return {"rounds_by_each": options.rare, "reached": reached}


def _referee_told(name: str, rules: Any, outcome: Any, state: dict[str, int], choices: tuple[int, ...]) -> Counter[str]:
    """Hold a kernel's round against the referee and return what is told in it."""
    from engines.game_events import parse_game_event
    from replay.referee.walk import walk_round

    events = [(place, parse_game_event(each.topic.split("/")[0], each.data)) for place, each in enumerate(outcome.events, 1)]
    walk = walk_round(events, rules, mode="base", bet_minor=2 * rules.bet.coins, state_in=state, choices=choices)
    expect(f"findings in {name}", [], [str(finding) for finding in walk.findings if finding.severity != "warning"])
    got = (outcome.ended, outcome.total_win_minor, outcome.base_win_minor, outcome.feature_win_minor, outcome.state_out)
    expect(f"totals of {name}", tuple((each,) for each in got), tuple(walk.totals))
    told = Counter([outcome.ended])
    for _, event in events:
        match event.kind:
            case "prize":
                told[f"prize {event.which}"] += 1
            case "power":
                told[f"power of princess {event.princess}"] += 1
            case "multiplier_change" if event.to_multiplier == rules.ceiling.multiplier:
                told[f"multiplier {event.to_multiplier}"] += 1
            case "spin_started":
                told[f"spin of {event.part}"] += 1
            case "choice_offered":
                told[f"choice {choices[0]}"] += 1
    return told


def prove_astra(options: argparse.Namespace) -> dict[str, Any]:
    """Spins in which Astra leaves up to nine Power Wilds all come to an end: no win goes on for ever."""
    from tests.stargazing_rules import ASTRA

    sums = list(simulate(ASTRA, "base", options.astra, seed=SEED, job_count=os.cpu_count() or 1))
    expect("spins that ended", options.astra, sum(each.total("rounds") for each in sums))
    return {"spins": options.astra}


def prove_speeds(options: argparse.Namespace) -> dict[str, Any]:
    """Compiled and plain kernels give the same bytes, whatever PYTHONHASHSEED is, and the pinned digests."""
    digests = {}
    program = (
        "import sys; from engines.registry import installed_game; from engines.digest import pinned_digest\n"
        "game = installed_game(sys.argv[1]); game.compile()\n"
        "print(*[pinned_digest(game, mode.name) for mode in game.rules.modes])"
    )
    for game in GAMES:
        rules = installed_rules(game)
        plain, machine = game_of_rules(rules), game_of_rules(rules)
        machine.compile()
        modes = [mode.name for mode in rules.modes]
        choices = [(choice,) for choice in range(len(rules.choice_names))] or [()]
        for mode, chosen in product(modes, choices):
            state = rules.first_state
            for nonce in range(options.plain):
                terms = (round_key(SEED, game, "", nonce), mode, BET_MINOR, state, chosen)
                outcome = machine.play(*terms)
                expect(f"{game} {mode} {chosen} nonce {nonce}", plain.play(*terms), outcome)
                state = outcome.state_out
        pinned = json.loads((ROOT / "tests" / "golden" / f"{game}-{rules.version}.json").read_text())
        expect(f"rules hash of {game}", pinned["rules_hash"], rules.rules_hash)
        for hash_seed in ("0", "1", "4242"):
            environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed}
            done = subprocess.run([sys.executable, "-c", program, game], env=environment, capture_output=True, text=True, check=True)
            expect(f"digests of {game} under PYTHONHASHSEED={hash_seed}", [pinned["digest"][mode] for mode in modes], done.stdout.split())
        digests[game] = pinned["digest"]
    return {"plain_rounds_per_mode": options.plain, "digest_rounds": PINNED_ROUNDS, "hash_seeds": [0, 1, 4242], "digests": digests}


def prove_bounds(options: argparse.Namespace) -> dict[str, Any]:
    """With the compiler checking every index, no kernel reads or writes outside an array."""
    program = (
        "import sys; from engines.registry import installed_rules; from engines.simulate import simulate\n"
        "rules, count = installed_rules(sys.argv[1]), int(sys.argv[2])\n"
        "for mode in rules.modes: list(simulate(rules, mode.name, count // (20 if mode.name == 'buy' else 1), seed=bytes(32)))"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_BOUNDSCHECK": "1", "XDG_CACHE_HOME": cache}
        for game in GAMES:
            command = [sys.executable, "-c", program, game, str(options.bounds)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            expect(f"bounds of {game}", (0, ""), (done.returncode, done.stderr))
    return {"rounds": options.bounds}


def _simulated(rules: GameRules, mode: str, count: int, choices: tuple[int, ...]) -> Sums:
    chunks = simulate(rules, mode, count, seed=SEED, choices=choices, job_count=os.cpu_count() or 1)
    return reduce(Sums.plus, chunks)


def prove_simulated(options: argparse.Namespace) -> dict[str, Any]:
    """The return of each mode, simulated as rounds are played, is not a tenth of a point off the target, or the exact return.

    Where rounds wait for a choice that is the return with the best one, and the worst is not much lower.
    """
    found = {}
    for game in GAMES:
        rules = installed_rules(game)
        for mode in (mode.name for mode in rules.modes):
            target = float(exact_return(rules, mode) or rules.rtp_target_x10000 / 10000)
            count = max(options.simulated // (50 if mode == "buy" else 1), 1000)
            estimates = []
            for place, choice in enumerate(rules.choice_names or ("",)):
                total = _simulated(rules, mode, count, (place,) if choice else ())
                estimate = estimate_return(rules, mode, total)
                estimates.append(estimate)
                shares = {"hit_frequency": total.total("hits") / count, "triggers": total.total("triggers") / count}
                found[f"{game} {mode} {choice}".strip()] = {"target": target, "rounds": count, **estimate._asdict(), **shares}
            best, worst = max(estimates), min(estimates)
            if not best.rtp_low - 0.001 < target < best.rtp_high + 0.001:
                raise ProofError(f"return of {game} {mode}", f"{target} within the interval, give or take 0.001", str(best))
            if worst.rtp_high < target - WORST_CHOICE:
                raise ProofError(f"worst choice of {game} {mode}", f"{target} less {WORST_CHOICE}, or more", str(worst))
    # The ante's triggers are twice the base mode's by construction; by count at the full number of rounds.
    ratio = found["moonlight-princess ante"]["triggers"] / found["moonlight-princess base"]["triggers"]
    if abs(ratio - 2) > (0.02 if options.full else 0.2):
        raise ProofError("triggers of ante and base", "2 to 1", f"{ratio:.4f}")
    return {"seed": SEED.hex(), "modes": found, "ante_triggers_per_base_trigger": ratio}


def prove_properties(options: argparse.Namespace) -> dict[str, Any]:
    """The property tests of random numbers, bytes, tree, referee and pictures, with many more examples."""
    files = ["tests/engines/test_rng.py", "tests/engines/test_decode.py", "tests/engines/test_canonical.py"]
    files += [
        "tests/engines/test_stargazing.py",
        "tests/ledger/test_merkle.py",
        "tests/replay",
        "tests/audit_reports/test_terminal_view.py",
    ]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "long", "SLOT_AUDIT_EXAMPLES": str(options.examples)}
    if options.full:
        environment |= {"SLOT_AUDIT_RANDOM": "1", "SLOT_AUDIT_ASTRA_SPINS": str(1_000_000)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *files]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout[-8000:])
    expect("exit status of the property tests", 0, done.returncode)
    return {"examples": options.examples, "result": done.stdout.strip().splitlines()[-1]}


def prove_kills(options: argparse.Namespace) -> dict[str, Any]:
    """Writers killed at random points leave no partial round and lose none that was acknowledged; no copy put back deals a nonce twice."""
    environment = {**os.environ, "SLOT_AUDIT_KILLS": str(options.kills), "SLOT_AUDIT_RESTORES": str(options.kills)}
    command = [sys.executable, "-m", "pytest", "-q", "tests/ledger", "-k", "kill or restored"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout[-8000:])
    expect("exit status of the kill tests", 0, done.returncode)
    return {"kills": options.kills, "result": done.stdout.strip().splitlines()[-1]}


def prove_faults(options: argparse.Namespace) -> dict[str, Any]:
    """Each write and flush that fails, and a database server killed under load, loses nothing and leaves nothing in part."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        log = Path(name) / "faults"
        log.touch()
        environment = {**os.environ, "SLOT_AUDIT_FAULTS": str(options.faults), "SLOT_AUDIT_FAULTS_LOG": str(log)}
        environment["SLOT_AUDIT_POSTGRES_KILLS"] = str(max(1, options.postgres_kills // POSTGRES_FAULT_TESTS))
        files = ["tests/ledger/test_disk_faults.py", "tests/ledger/test_postgres_faults.py"]
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-n", "2", "--dist", "worksteal", *files]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.stderr.write(done.stdout[-8000:])
        expect("exit status of the fault tests", 0, done.returncode)
        counts = {line["of"]: line["faults"] for line in map(json.loads, log.read_text().splitlines())}
    lines = done.stdout.strip().splitlines()
    skipped = [line for line in lines if line.startswith("SKIPPED")]
    kills = {"postgres_kills": options.postgres_kills}
    return {"faults": sum(counts.values()), "of": dict(sorted(counts.items())), **kills, "result": lines[-1], "skipped": skipped}


def _life_task(task: tuple[str, int]) -> Counter[str]:
    """Let a ledger live; return how often what happened in it."""
    folder, seed = task
    with tempfile.TemporaryDirectory(dir=folder) as name:
        try:
            return live(Path(name), seed)
        except Exception as error:
            raise ProofError(f"life {seed}", "nothing found wrong", f"{type(error).__name__} {error}"[:2000]) from error


def prove_growth(options: argparse.Namespace) -> dict[str, Any]:
    """In ledgers grown and interrupted at random nothing is found wrong, nor in their copies, backups and after VACUUM."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        tasks = [(name, options.first_life + number) for number in range(options.lives)]
        counts: Counter[str] = Counter()
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
            for counted in pool.map(_life_task, tasks):
                counts += counted
    other = os.environ.get(OTHER_PYTHON)
    told = [other, "-c", "import platform; print(platform.python_version())"] if other else []
    version = subprocess.run(told, capture_output=True, text=True, check=True).stdout.strip() if told else None
    return {"lives": options.lives, "first_life": options.first_life, "happened": dict(counts.most_common()), "other_python": version}


def _attack_task(task: tuple[str, str, int, bytes, int, int]) -> tuple[str, int, list[str]]:
    """Make instances of one attack on copies of a ledger; return its name, how many were found and named, and what was not."""
    path, name, size, root, first, end = task
    found, missed = 0, []
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        for number in range(first, end):
            copy = Path(folder) / f"{number}.db"
            shutil.copyfile(path, copy)
            words = attack(name, str(copy), random.Random(f"{name} {number}"))
            messages = [fault.message for fault in check_ledger(copy, held_roots=[(size, root)]) if fault is not None]
            if is_named(words, messages):
                found += 1
            else:
                missed.append(f"instance {number}: want {words!r}, got {messages[:2]}")
            copy.unlink()
    return name, found, missed


def _forgery_task(task: tuple[Scene, str, int, int]) -> tuple[str, int, list[str]]:
    """Make instances of one forgery on copies of a scene; return its name, how many every command saw that must, and what was not."""
    scene, name, first, end = task
    missed = []
    for number in range(first, end):
        missed += [f"instance {number}: {text}" for text in forge(name, scene, scene.ledger.parent, random.Random(f"{name} {number}"))[:1]]
    return name, end - first - len(missed), missed


def _play_attacked(folder: Path, round_count: int) -> Scene:
    """Play the ledger that is attacked, in five epochs and on three accounts, and hand its checkpoint over."""
    path = folder / "ledger.db"
    game = game_of_rules(installed_rules(GAME))
    game.compile()
    with RoundLedger.create(path) as ledger:
        refs = [ledger.open_account(account, "EUR") for account in ("ann", "bob", "carl")]
        for ref in refs:
            ledger.move_funds(ref, 10**11)
    for part in range(5):
        with RoundLedger.open_for_writing(path) as ledger:
            for number in range(round_count // 5):
                ledger.play(refs[number % 3], game, MODES[number % 50 // 49 * 2], 200, external_ref=f"tx-{part}-{number}")
            ledger.move_funds(refs[part % 3], -500, "withdrawal")
    copy_ledger(path, folder / "whole.db")
    return new_scene(folder, folder / "whole.db", folder / "ledger.db.keys")


def prove_attacks(options: argparse.Namespace) -> dict[str, Any]:
    """Each attack on a ledger that a kept checkpoint covers is found and named, by the commands that the page on them says."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        scene = _play_attacked(Path(name), options.attack_rounds)
        with RoundLedger.open_for_reading(scene.ledger) as ledger:
            tree = ledger.store.tree()
        counts = dict.fromkeys((*ATTACKS, *FORGERIES), 0)
        step = max(1, options.instances // 4)
        parts = [(first, min(first + step, options.instances)) for first in range(0, options.instances, step)]
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
            attacks = [(str(scene.ledger), attack_name, tree.size, tree.root, *part) for attack_name in ATTACKS for part in parts]
            forgeries = [(scene, forgery, *part) for forgery in FORGERIES for part in parts]
            # Not both at once: where a forgery is missed, the attacks are not to be waited for.
            for results in (pool.map(*work) for work in ((_forgery_task, forgeries), (_attack_task, attacks))):
                for attack_name, found, missed in results:
                    expect(f"attack {attack_name!r}", [], missed)
                    counts[attack_name] += found
                    if counts[attack_name] == options.instances:
                        sys.stderr.write(f"  {attack_name}: all {options.instances} found and named\n")
    print(f"{'found and named':>15}  of {options.instances} on a ledger of {options.attack_rounds} rounds")
    for attack_name, count in counts.items():
        print(f"{count:>15}  {attack_name}")
    return {"rounds": options.attack_rounds, "instances": options.instances, "found_and_named": counts}


def prove_planted(options: argparse.Namespace) -> dict[str, Any]:
    """Of single faults planted in the kernels the referee sees nearly all, in each game, without the seed."""
    command = [sys.executable, "tools/planted_faults.py", "--rounds", str(options.planted_rounds), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    expect("exit status of the planted faults", 0, done.returncode)
    found: dict[str, Any] = json.loads(done.stdout)
    return {"rounds_per_fault": options.planted_rounds, **found}


PROOFS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "speeds": prove_speeds,
    "rounds": prove_rounds,
    "rare": prove_rare,
    "astra": prove_astra,
    "bounds": prove_bounds,
    "simulated": prove_simulated,
    "properties": prove_properties,
    "kills": prove_kills,
    "faults": prove_faults,
    "growth": prove_growth,
    "attacks": prove_attacks,
    "planted": prove_planted,
}


def parse_options() -> argparse.Namespace:
    """Return the counts: those given, else the full or the short ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the counts of the issues; writes docs/measured/")
    parser.add_argument("--only", choices=PROOFS, action="append", help="these proofs alone")
    parser.add_argument("--rounds", type=int, help="recorded rounds of each mode (5,000; full 20,000)")
    parser.add_argument("--rare", type=int, help="rounds that reach each rare thing by test rules (50; full 2,000)")
    parser.add_argument("--astra", type=int, help="spins with Power Wilds, each of which must end (200,000; full 1,000,000)")
    parser.add_argument("--plain", type=int, help="plain rounds of each mode against compiled ones (300)")
    parser.add_argument("--bounds", type=int, help="rounds with checked bounds (200,000; full 2,000,000)")
    parser.add_argument("--simulated", type=int, help="simulated rounds of base and ante, a fiftieth of buy (5e6; full 1e8)")
    parser.add_argument("--examples", type=int, help="examples of each property (400; full 1,000)")
    parser.add_argument("--kills", type=int, help="kills of a writer (20; full 300)")
    parser.add_argument("--faults", help="failing writes and flushes of each fault test (6; full `each` of them)")
    parser.add_argument("--postgres-kills", type=int, help="kills of servers, sessions and writers on PostgreSQL (10; full 300)")
    parser.add_argument("--lives", type=int, help="ledgers grown at random (10; full 200)")
    parser.add_argument("--first-life", type=int, default=0, help="seed of the first of them")
    parser.add_argument("--instances", type=int, help="instances of each attack on a ledger (8; full 200)")
    parser.add_argument("--attack-rounds", type=int, help="rounds of the ledger that is attacked (500; full 5,000)")
    parser.add_argument("--planted-rounds", type=int, default=200, help="rounds of each planted fault at most (200)")
    parser.add_argument("--folder", type=Path, help="where ledgers are written meanwhile")
    options = parser.parse_args()
    short = {
        "rounds": 5_000,
        "rare": 50,
        "astra": 200_000,
        "plain": 300,
        "bounds": 200_000,
        "simulated": 5_000_000,
        "examples": 400,
        "kills": 20,
        "faults": "6",
        "postgres_kills": 10,
        "lives": 10,
        "instances": 8,
        "attack_rounds": 500,
    }
    full = {
        "rounds": 20_000,
        "rare": 2_000,
        "astra": 1_000_000,
        "plain": 300,
        "bounds": 2_000_000,
        "simulated": 100_000_000,
        "examples": 1000,
        "kills": 300,
        "faults": "each",
        "postgres_kills": 300,
        "lives": 200,
        "instances": 200,
        "attack_rounds": 5000,
    }
    for name, count in (full if options.full else short).items():
        if getattr(options, name) is None:
            setattr(options, name, count)
    return options


def main() -> int:
    """Run the proofs and return the exit status."""
    options = parse_options()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip() or "unknown"
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    for name in options.only or PROOFS:
        started = time.perf_counter()
        sys.stderr.write(f"prove {name} …\n")
        try:
            measured = PROOFS[name](options)
        except ProofError as error:
            sys.stderr.write(f"prove {name}: FAILED: {error}\n")
            return 1
        seconds = round(time.perf_counter() - started, 1)
        print(f"{name}: holds ({seconds} s) {json.dumps(measured)[:PRINTED_MAX]}", flush=True)
        if options.full:
            facts = {"proof": name, "commit": commit, "machine": machine, "seconds": seconds, **measured}
            (ROOT / "docs" / "measured").mkdir(parents=True, exist_ok=True)
            (ROOT / "docs" / "measured" / f"{FILES.get(name, name)}.json").write_text(json.dumps(facts, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
