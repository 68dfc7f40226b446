"""Packs with a right record, in which what is said of it, the bag or its signature is wrong."""

import json

from audit_reports.bag import folder_of
from audit_reports.statement import ROUND_PACK, signed_statement
from tests.pack_forging import Forgery, document, key_of, wrong

__all__: list[str] = []

# What the pack says beside the record.


@wrong("profile")
def profile_with_another_deadline(pack: Forgery) -> None:
    """The profile's values are not those that the round names."""
    pack.files["profile.json"] = pack.files["profile.json"].replace(b'"within_days":3', b'"within_days":9')


@wrong("texts|text", needs="texts.json")
def texts_of_another_hash(pack: Forgery) -> None:
    """The texts shown to players are not those that the round names."""
    texts = json.loads(pack.files["texts.json"])
    pack.files["texts.json"] = document({**texts, "more": "x"} if isinstance(texts, dict) else [*texts, "x"])


@wrong("rules", by_all=False)
def rules_of_another_round(pack: Forgery) -> None:
    """The rules file is not the one that the round names."""
    pack.files["rules.toml"] = pack.files["rules.toml"].replace(b"pays_x100 = [1", b"pays_x100 = [2", 1)


@wrong("verdict")
def verdict_of_another_round(pack: Forgery) -> None:
    """The verdict is one of the round before."""
    pack.amend("verdict.json", round_id=pack.rounds[0].removeprefix("round/"))


@wrong("verdict")
def verdict_with_a_failed_check(pack: Forgery) -> None:
    """A check of the verdict failed, and the verdict says reproduced."""
    checks = pack.json("verdict.json")["checks"]
    pack.amend("verdict.json", checks=[{**each, "result": "fail"} if each["name"] == "totals" else each for each in checks])


@wrong("verdict")
def index_of_another_verdict(pack: Forgery) -> None:
    """The pack's index, and its builder, say another verdict than the verdict does."""
    pack.index["verdict"] = "incomplete_resolved"


@wrong("over|end")
def index_of_a_round_in_play(pack: Forgery) -> None:
    """The pack's index says that the round is not over."""
    pack.index["is_over"] = False


# The bag and who signed it.


def _statement(pack: Forgery, **values: object) -> None:
    pack.reach("statement")
    pack.tags["signature.json"] = signed_statement(ROUND_PACK, {**pack.predicate, **values}, pack.tags, pack.pack_key)


@wrong("statement|verdict|sign")
def statement_of_another_verdict(pack: Forgery) -> None:
    """The builder signed another verdict."""
    _statement(pack, verdict="incomplete_resolved")


@wrong("statement|round|sign")
def statement_of_another_round(pack: Forgery) -> None:
    """The builder signed for another round."""
    _statement(pack, round_id=pack.rounds[0].removeprefix("round/"))


@wrong("statement|as_of|sign")
def statement_of_another_moment(pack: Forgery) -> None:
    """The builder signed for another moment."""
    _statement(pack, as_of_us=pack.index["as_of_us"] + 1)


@wrong("statement|prepared|sign")
def statement_that_certifies(pack: Forgery) -> None:
    """The builder signed the pack as a certificate."""
    _statement(pack, prepared_for="certification")


@wrong("statement|subject|sign")
def statement_over_another_bag(pack: Forgery) -> None:
    """The builder signed for a bag with other files."""
    others = {**pack.reach("statement").tags, "manifest-sha256.txt": b""}
    pack.tags["signature.json"] = signed_statement(ROUND_PACK, pack.predicate, others, pack.pack_key)


@wrong("sign|key")
def signature_of_another_key(pack: Forgery) -> None:
    """The builder's key in the pack is not the one that signed."""
    pack.reach("statement")
    pack.tags["signature.json"] = signed_statement(ROUND_PACK, pack.predicate, pack.tags, key_of("another"))


@wrong("sign")
def signature_of_another_text(pack: Forgery) -> None:
    """The signature is the builder's, of another statement."""
    envelope = json.loads(pack.reach("statement").tags["signature.json"])
    other = json.loads(signed_statement(ROUND_PACK, {**pack.predicate, "verdict": "x"}, pack.tags, pack.pack_key))
    pack.tags["signature.json"] = document({**envelope, "signatures": other["signatures"]})


@wrong("manifest|bag|file")
def file_not_in_the_manifest(pack: Forgery) -> None:
    """A file of the payload stands in no list of hashes."""
    pack.extra["data/notes.txt"] = b"paid in full\n"


@wrong("manifest|bag|file")
def tag_file_not_in_the_manifest(pack: Forgery) -> None:
    """A file beside the payload stands in no list of hashes."""
    pack.extra["notes.txt"] = b"paid in full\n"


@wrong("readme|manifest|bag|hash")
def file_of_another_hash(pack: Forgery) -> None:
    """A file is not the one in the list of hashes."""
    readme = pack.reach("list").files["readme.txt"]
    pack.files["readme.txt"] = readme.swapcase()


@wrong("software|manifest|bag")
def file_of_the_manifest_missing(pack: Forgery) -> None:
    """A file of the list of hashes is not there."""
    del pack.reach("list").files["software.json"]


@wrong("software")
def file_always_there_missing(pack: Forgery) -> None:
    """A file that every pack has is not there, in no list of hashes either."""
    del pack.files["software.json"]


@wrong("canonical|software|form")
def file_not_canonical(pack: Forgery) -> None:
    """A JSON file has spaces."""
    pack.files["software.json"] = json.dumps(pack.json("software.json")).encode() + b"\n"


def _description(pack: Forgery, line: str, text: str) -> None:
    found = pack.reach("bag").tags["bag-info.txt"].decode().splitlines()
    pack.tags["bag-info.txt"] = "".join(f"{line}: {text}\n" if each.startswith(line) else f"{each}\n" for each in found).encode()


@wrong("oxum|bag")
def oxum_wrong(pack: Forgery) -> None:
    """The bag's size and number of files are others."""
    _description(pack, "Payload-Oxum", "1.1")


@wrong("date|bag")
def date_wrong(pack: Forgery) -> None:
    """The bag's date is not that of the pack."""
    _description(pack, "Bagging-Date", "2020-01-01")


@wrong("identifier|bag")
def bag_of_another_round(pack: Forgery) -> None:
    """The bag names another round."""
    _description(pack, "External-Identifier", pack.rounds[0].removeprefix("round/"))


@wrong("folder|name|bag|member")
def folder_of_another_round(pack: Forgery) -> None:
    """The members lie in the folder of another round."""
    pack.folder = folder_of(pack.rounds[0].removeprefix("round/"))
