"""Packs with wrong money or wrong random numbers, and all that follows from them right."""

from engines.rng import round_key, words
from tests.forged_amounts import follow_from_awards, follow_from_balances, follow_from_totals, follow_from_wins, follow_in_files
from tests.pack_forging import ANOTHER_HASH, Forgery, document, lines, wrong

__all__: list[str] = []

# Money.


@wrong("win")
def win_paid_more(pack: Forgery) -> None:
    """A win pays more than pay, ways, multiplier and bet come to."""
    win_minor = pack.find("win")[2]["win_minor"]
    pack.change("win", win_minor=win_minor + 100)
    follow_from_wins(pack)


@wrong("win|pay", by_all=False)
def win_that_the_rules_do_not_pay(pack: Forgery) -> None:
    """A win pays twice what the paytable says, in right arithmetic."""
    fields = pack.find("win")[2]
    pack.change("win", win_minor=2 * fields["win_minor"], pay_x100=2 * fields["pay_x100"])
    follow_from_wins(pack)


@wrong("win|board|cells", by_all=False)
def verdict_without_its_finding(pack: Forgery) -> None:
    """A win is recorded twice, which the board does not show; the verdict says reproduced."""
    append, place, _ = pack.find("win")
    append.events.insert(place, append.events[place])
    pack.renumber(pack.round)
    follow_from_wins(pack)


@wrong("multiplier", by_all=False)
def spin_multiplied_more(pack: Forgery) -> None:
    """A spin's win is multiplied by more than its hearts come to."""
    number, multiplier = next(
        (number, fields["spin_multiplier"])
        for number, (_, _, fields) in enumerate(each for each in pack.events(pack.round) if each[2]["kind"] == "spin_ended")
        if fields["spin_multiplier"] > 1
    )
    pack.change("spin_ended", number, spin_multiplier=multiplier + 5)
    follow_from_wins(pack)


@wrong("symbol|board|drop|cell", by_all=False)
def board_changed(pack: Forgery) -> None:
    """Two cells of a board have changed places."""
    symbols = list(pack.find("drop")[2]["symbols"])
    other = next(place for place, symbol in enumerate(symbols) if symbol != symbols[0])
    symbols[0], symbols[other] = symbols[other], symbols[0]
    pack.change("drop", symbols=symbols)


@wrong("cost", by_all=False)
def cost_of_another_mode(pack: Forgery) -> None:
    """A round costs less than its mode does, and the balances follow."""
    pack.change("round_opened", cost_minor=19_000)
    follow_from_totals(pack)


@wrong("award|adding|spin_ended")
def award_not_the_sum(pack: Forgery) -> None:
    """A spin awards more than its wins and prizes come to."""
    award_minor = pack.find("spin_ended")[2]["award_minor"]
    pack.change("spin_ended", award_minor=award_minor + 100)
    follow_from_awards(pack)


@wrong("total|adding")
def total_so_far_wrong(pack: Forgery) -> None:
    """The total behind one spin is another than the sum of the awards up to there."""
    total_minor = pack.find("spin_ended", 1)[2]["total_minor"]
    pack.change("spin_ended", 1, total_minor=total_minor + 100)
    follow_in_files(pack)


@wrong("total_win|round_win|adding|total|settle")
def round_win_not_the_sum(pack: Forgery) -> None:
    """The round is settled for more than its awards; split and balances follow."""
    fields = pack.find("round_settled")[2]
    more = {"total_win_minor": fields["total_win_minor"] + 100, "feature_win_minor": fields["feature_win_minor"] + 100}
    pack.change("round_settled", **more)
    follow_from_totals(pack)


@wrong("base|split|feature|settle")
def split_not_of_its_spins(pack: Forgery) -> None:
    """Part of the base game's win is said to be the feature's; the sum is right."""
    fields = pack.find("round_settled")[2]
    pack.change("round_settled", base_win_minor=fields["base_win_minor"] - 100, feature_win_minor=fields["feature_win_minor"] + 100)
    follow_in_files(pack)


@wrong("prize")
def prize_amount(pack: Forgery) -> None:
    """A prize is more than its pay, multiplier and bet come to."""
    prize_minor = pack.find("prize")[2]["prize_minor"]
    pack.change("prize", prize_minor=prize_minor + 100)
    follow_from_wins(pack)


@wrong("balance")
def balance_after_wrong(pack: Forgery) -> None:
    """The balance behind the settlement is more than before, cost and win come to; later ones follow."""
    append, _, fields = pack.find("round_settled")
    pack.change("round_settled", balance_after_minor=fields["balance_after_minor"] + 100)
    follow_from_balances(pack, since=append.leaf_index + 1)


@wrong("balance|cost")
def cost_balance_wrong(pack: Forgery) -> None:
    """The round cost more than its balances say."""
    pack.change("round_opened", cost_minor=pack.find("round_opened")[2]["cost_minor"] + 100)
    follow_in_files(pack)


@wrong("balance")
def balance_between_rounds(pack: Forgery) -> None:
    """The round begins with more than the round before it left; later balances follow."""
    append, _, fields = pack.find("round_opened")
    pack.change("round_opened", balance_before_minor=fields["balance_before_minor"] + 100)
    follow_from_balances(pack, since=append.leaf_index + 1)


# Random numbers.


def _seed(pack: Forgery) -> bytes:
    (epoch,) = [stream for stream in pack.streams if stream.startswith("epoch/")]
    return bytes.fromhex(pack.find("seed_revealed", stream=epoch)[2]["server_seed"])


@wrong("key|commitment")
def key_of_another_round(pack: Forgery) -> None:
    """The key, and the words of the draws, are those of the round before."""
    fields = pack.find("round_opened", stream=pack.rounds[0])[2]
    key = round_key(_seed(pack), fields["game"], fields["client_seed"], fields["nonce"])
    stream, place, drawn = words(key), 0, []
    for draw in lines(pack.files["draws.jsonl"]):
        taken = [next(stream)]
        while (taken[-1] * draw["n"]) % 2**32 < 2**32 % draw["n"]:
            taken.append(next(stream))
        drawn.append({**draw, "first_word": place, "words": taken, "result": taken[-1] * draw["n"] >> 32})
        place += len(taken)
    pack.files["draws.jsonl"] = b"".join(map(document, drawn))
    pack.files["round-key.json"] = document({"round_key": key.hex()})


@wrong("seed")
def seed_of_another_epoch(pack: Forgery) -> None:
    """The revealed seed is not the one that was committed to."""
    (epoch,) = [stream for stream in pack.streams if stream.startswith("epoch/")]
    pack.change("seed_revealed", stream=epoch, server_seed=ANOTHER_HASH)


@wrong("key|nonce|seed")
def nonce_of_another_round(pack: Forgery) -> None:
    """The opening says another nonce than its key was made with."""
    pack.change("round_opened", nonce=7)


@wrong("key|client|seed")
def client_seed_changed(pack: Forgery) -> None:
    """The opening says another client seed than its key was made with."""
    pack.change("round_opened", client_seed="client's own")


@wrong("commitment")
def commitment_of_another_epoch(pack: Forgery) -> None:
    """The opening says another seed commitment than its epoch."""
    pack.change("round_opened", seed_commitment=ANOTHER_HASH)


@wrong("draw|result")
def draw_result_changed(pack: Forgery) -> None:
    """A draw has another result than its words give."""
    drawn = lines(pack.files["draws.jsonl"])
    drawn[3]["result"] = (drawn[3]["result"] + 1) % drawn[3]["n"]
    pack.files["draws.jsonl"] = b"".join(map(document, drawn))


@wrong("draw|word")
def draw_word_changed(pack: Forgery) -> None:
    """A draw has another word than the key stream, and the result that this gives."""
    drawn = lines(pack.files["draws.jsonl"])
    word = drawn[3]["words"][-1] ^ 1 << 31
    drawn[3] |= {"words": [*drawn[3]["words"][:-1], word], "result": word * drawn[3]["n"] >> 32}
    pack.files["draws.jsonl"] = b"".join(map(document, drawn))


@wrong("draw|word")
def draw_skipped(pack: Forgery) -> None:
    """A draw is left out, the others are numbered anew: a word that nobody took."""
    drawn = lines(pack.files["draws.jsonl"])
    del drawn[3]
    pack.files["draws.jsonl"] = b"".join(document({**draw, "number": number}) for number, draw in enumerate(drawn))


@wrong("draw|word|place")
def draw_from_another_place(pack: Forgery) -> None:
    """A draw takes the word of the one behind it, with the result that this gives."""
    drawn = lines(pack.files["draws.jsonl"])
    word = drawn[4]["words"][-1]
    drawn[3] |= {"first_word": drawn[4]["first_word"], "words": [word], "result": word * drawn[3]["n"] >> 32}
    pack.files["draws.jsonl"] = b"".join(map(document, drawn))


@wrong("draw", by_all=False)
def draws_end_early(pack: Forgery) -> None:
    """The last draw is left out, which only who plays the round again can tell."""
    pack.files["draws.jsonl"] = b"".join(map(document, lines(pack.files["draws.jsonl"])[:-1]))


@wrong("draws|key")
def draws_without_the_key(pack: Forgery) -> None:
    """Draws are shown, and no key to hold them against."""
    del pack.files["round-key.json"]
    pack.index["absent"] = {**pack.index["absent"], "round key": "the seed is sealed and its key was not at hand"}


@wrong("key", base="in_play")
def open_round_with_its_key(pack: Forgery) -> None:
    """A round in play has its key in the pack: it tells what each choice leads to."""
    pack.files["round-key.json"] = document({"round_key": pack.house_key.hex()})
    absent = dict(pack.index["absent"])
    pack.index["absent"] = {what: why for what, why in absent.items() if "key" not in what}


@wrong("draws", base="in_play")
def open_round_with_draws(pack: Forgery) -> None:
    """A round in play has draws in the pack."""
    word = next(words(pack.house_key))
    draw = {"number": 0, "purpose": "strip set", "n": 1000, "first_word": 0, "words": [word], "result": word * 1000 >> 32}
    pack.files["draws.jsonl"] = document(draw)
