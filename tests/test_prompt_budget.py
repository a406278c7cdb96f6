"""A prompt that is too long loses the least useful of its inputs, and never an instruction."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ConfigFault, PromptTooLong
from pipeline.identity import SENTINEL
from pipeline.models import Ask
from pipeline.models.mlx import MlxModel
from pipeline.prompts import Prompts
from pipeline.resources import folder
from pipeline.shortening import MARK, Way, largest, shortened
from pipeline.support import well_formed
from tests.support_night import CONVERSATIONS, Script, make_vault, run_night, write_session

LISTS = {"transcript", "buckets", "sentences", "claims", "headings", "messages"}  # of lines
AROUND = 150  # tokens that a template may take around the turns of any of the prompts


def pieces(text: str) -> int:
    """Tokens as a tokenizer makes them: words in pieces of four, each sign and line end alone."""
    return len(re.findall(r"\w{1,4}|[^\w ]", text))


def whole(ask: Ask) -> int:
    """The same of all turns of an ask."""
    pairs = (text for pair in ask.examples for text in pair)
    return sum(map(pieces, (ask.system, *pairs, ask.prompt)))


def bounded(limit: int, root: Path | None = None) -> Prompts:
    return Prompts(root or folder("prompts")).within(limit, pieces)


NAMES = sorted(bounded(1).digests())


def parts(name: str, ask: Ask) -> dict[str, str]:
    """What stands at each place of the last turn, by the words of the file around them."""
    template = Prompts(folder("prompts")).get(name).user
    pattern = re.escape(template)
    for place in bounded(1).get(name).places():
        inner = "(?s:.*)" if place in LISTS else "[^\n]*"
        pattern = pattern.replace(re.escape(f"${place}"), f"(?P<{place}>{inner})")
    found = re.fullmatch(pattern, ask.prompt)
    assert found is not None, ask.prompt
    return found.groupdict()


# ------------------------------------------------------------------ the files


@pytest.mark.parametrize("name", NAMES)
def test_every_input_has_its_rank(name: str) -> None:
    """All places but the rules are named under `cut`, so that a prompt can be made to fit."""
    prompt = bounded(1).get(name)
    assert {place for place, _ in prompt.cut} == prompt.places() - {"rules"}
    assert len(prompt.cut) == len(dict(prompt.cut))


HEAD = "---\n{}\n---\n## system\nBe brief.$rules\n## user\n$one and $two\n"


def prompt_folder(root: Path, head: str, text: str = HEAD) -> Path:
    file = root / "stage" / "say.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.replace("{}", head), encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("cut: [one]", "cut is"),
        ("cut: {one: middle}", "cut is"),
        ("cut: {three: end}", "'three'"),
        ("cut: {rules: end}", "'rules'"),
        ("rules: Chunking.md", "rules are"),
        ("rules: ['']", "rules are"),
    ],
)
def test_a_wrong_rank_is_told_when_the_file_is_read(tmp_path: Path, head: str, said: str) -> None:
    """By the file's name; instructions are no input."""
    with pytest.raises(ConfigFault, match=rf"say\.md.*{said}"):
        Prompts(prompt_folder(tmp_path, head))


def test_a_prompt_of_the_users_own_need_not_say_it(tmp_path: Path) -> None:
    """What it leaves out is as in the one it replaces; what it says holds."""
    shipped = prompt_folder(tmp_path / "a", "cut: {one: start, two: each}\nrules: [Chunking.md]")
    own = prompt_folder(tmp_path / "b", "{}", HEAD.replace("$one and ", ""))
    prompt = Prompts(shipped, own).get("stage/say")
    assert prompt.cut == (("two", Way.EACH),) and prompt.pages == ("Chunking.md",)
    prompt_folder(own, "cut: {two: end, one: end}\nrules: []")
    prompt = Prompts(shipped, own).get("stage/say")
    assert prompt.cut == (("two", Way.END), ("one", Way.END)) and prompt.pages == ()


# ------------------------------------------------------------------ shortening


@pytest.mark.parametrize(
    ("way", "size", "left"),
    [
        (Way.END, 99, "one two\nthree four five\nsix"),
        (Way.END, 20, "one two\nthree four …"),
        (Way.END, 10, "one two\n…"),
        (Way.END, 2, "on…"),
        (Way.END, 0, "…"),
        (Way.START, 6, "…\nsix"),
        (Way.START, 10, "… five\nsix"),
        (Way.EACH, 0, "…"),
        (Way.EACH, 2, "one two\nthree four five\n…"),
        (Way.EACH, 3, "one two\nthree four five\nsix"),
    ],
)
def test_what_is_left(way: Way, size: int, left: str) -> None:
    """Whole lines and words where that costs little, and a mark where something went."""
    assert shortened("one two\nthree four five\nsix", size, way) == left


def test_the_longest_lines_lose_their_ends_first() -> None:
    """Each is heard, with forty characters of it, before the last ones go."""
    text = f"{'a' * 60}\nshort\n{'b' * 50}"
    assert shortened(text, 3 + 15, Way.EACH) == f"{'a' * 55}…\nshort\n{'b' * 50}"
    assert shortened(text, 3, Way.EACH) == f"{'a' * 40}…\nshort\n{'b' * 40}…"
    assert shortened(text, 1, Way.EACH) == f"{'a' * 40}…\n…"
    assert largest(text, Way.EACH) == 3 + 20
    assert shortened(text, 23, Way.EACH) == text


@given(text=st.text(), size=st.integers(0, 40), way=st.sampled_from(Way))
def test_nothing_is_made_up(text: str, size: int, way: Way) -> None:
    """What is left is a beginning, or an end, of the text or of its lines."""
    left = shortened(text, size, way)
    assert shortened(text, largest(text, way), way) == text
    if way is Way.START:
        assert text.endswith(left.removeprefix(MARK).lstrip()) or left == text
    elif way is Way.END:
        assert text.startswith(left.removesuffix(MARK).rstrip()) or left == text
    else:
        for line, was in zip(left.split("\n"), text.split("\n"), strict=False):
            assert was.startswith(line.removesuffix(MARK).rstrip()) or line == was


@pytest.mark.parametrize("end", ["…", " …", "….", " ….", "...", "....", "…。"])
def test_the_mark_is_not_copied(end: str) -> None:
    """A sentence that ends as a shortened input does is none, with a full stop or without."""
    assert well_formed(f"The PART of PROJECT keeps the ENTRIES{end}", max_words=45)


# ------------------------------------------------------------------ fitting


@settings(max_examples=100)
@given(data=st.data(), name=st.sampled_from(NAMES), spare=st.integers(200, 2000))
def test_whatever_is_put_in_the_prompt_fits(data: st.DataObject, name: str, spare: int) -> None:
    """Its instructions are whole, and an input is touched only when the less useful are gone."""
    prompts = Prompts(folder("prompts"))
    prompt = prompts.get(name)
    lines = st.lists(
        st.sampled_from(["word", "a longer line of words", "x" * 2000, "词" * 900, "", "🙂 "]),
        max_size=30,
    ).map("\n".join)
    values = {place: data.draw(lines, label=place) for place in sorted(prompt.places())}
    values = {n: v if n in LISTS else v.replace("\n", " ") for n, v in values.items()}
    empty = dict.fromkeys(values, "")
    if "rules" in values:
        empty["rules"] = values["rules"] = " The owner also asks: be brief."
    bare = prompts.ask(name, empty)
    limit = whole(bare) + spare
    ask = prompts.within(limit, pieces).ask(name, values)
    assert whole(ask) <= limit
    assert ask.system == bare.system and ask.examples == bare.examples
    assert ask.system.startswith(SENTINEL)
    uncut = Prompts(folder("prompts")).ask(name, values)
    if whole(uncut) <= limit - AROUND:
        assert ask == uncut
        return
    order = [place for place, _ in prompt.cut if values[place]]
    left = parts(name, ask)
    touched = [place for place in order if left[place] != values[place]]
    assert touched == order[: len(touched)]
    assert [left[place] for place in touched[:-1]] == [MARK] * len(touched[:-1])


@pytest.mark.parametrize("signs", ["word ", "word", "词", "🙂", "\n", "USER: hello there\n"])
def test_one_message_of_hundreds_of_thousands_of_tokens(signs: str) -> None:
    """It fits, the rest of the prompt is whole, and it is never counted as a whole."""
    seen: list[int] = []

    def count(text: str) -> int:
        seen.append(len(text))
        return pieces(text)

    huge = f"USER: {signs * (1_000_000 // len(signs))}"
    values = {"transcript": huge, "topics": "cooking; sport", "rules": " The owner also asks: x"}
    prompts = Prompts(folder("prompts"))
    ask = prompts.within(4096, count).ask("chunk/keep", values)
    assert whole(ask) <= 4096
    assert ask.system.endswith(values["rules"])
    assert ask.prompt.startswith("Ignore: cooking; sport\n<chat>\nUSER:")
    assert ask.prompt.endswith(f"{MARK}\n</chat>")
    assert max(seen) < 80_000
    assert len(seen) < 40


def test_what_is_short_is_not_even_counted() -> None:
    """A tokenizer in another process costs a call each time; most prompts are short."""

    def never(text: str) -> int:
        raise AssertionError(text)

    values = {"old": "The PART is red.", "new": "The PART is blue.", "rules": ""}
    plain = Prompts(folder("prompts")).ask("synthesize/relation", values)
    assert bounded(4096).ask("synthesize/relation", values) == plain
    prompts = Prompts(folder("prompts")).within(4096, never)
    assert prompts.ask("synthesize/relation", values) == plain


def test_rules_that_are_too_long_are_told_by_their_page() -> None:
    """They are the user's instructions: neither cut nor left out."""
    values = {"transcript": "USER: hello", "rules": " The owner also asks: " + "be brief; " * 2000}
    with pytest.raises(ConfigFault, match=r"Meta/Chunking\.md.*chunk/label.*room for \d+"):
        bounded(4096).ask("chunk/label", values)
    with pytest.raises(ConfigFault, match=r"Meta/Editorial_Guidelines\.md.*synthesize/claims"):
        bounded(4096).room("synthesize/claims", {"rules": values["rules"]})
    values["rules"] = " The owner also asks: be brief"
    bounded(4096).ask("chunk/label", values)


def test_a_budget_that_no_prompt_fits_is_told() -> None:
    """By the prompt and the setting."""
    values = {"transcript": "USER: hello " * 100, "rules": ""}
    with pytest.raises(ConfigFault, match=r"synthesize/claims .*`max_prompt_tokens` is 300"):
        bounded(300).ask("synthesize/claims", values)


def test_an_input_that_the_users_own_file_keeps_whole(tmp_path: Path) -> None:
    """It is too long for this one job, which is told by the file."""
    shipped = prompt_folder(tmp_path, "cut: {one: end}", HEAD.replace("$rules", ""))
    prompts = bounded(200, shipped)
    assert prompts.ask("stage/say", {"one": "a " * 999, "two": "b " * 9}).prompt.endswith("b " * 9)
    with pytest.raises(PromptTooLong, match=r"say\.md"):
        prompts.ask("stage/say", {"one": "a", "two": "b " * 999})


# ------------------------------------------------------------------ a night


def test_a_night_with_rules_that_are_too_long_parks_nothing(home: Path) -> None:
    """The run ends with what to shorten; once that is done, the next one does all the work."""
    config = make_vault()
    kind, session, start, said = CONVERSATIONS[0]
    write_session(home, kind, session, start, said)
    page = config.vault / "Meta" / "Chunking.md"
    text = page.read_text("utf-8")
    page.write_text(f"{text}\n" + "".join(f"- Rule {n}, be brief.\n" for n in range(9000)), "utf-8")
    with pytest.raises(ConfigFault, match=r"Meta/Chunking\.md"):
        run_night(config)
    page.write_text(text, "utf-8")
    night = run_night(config)
    assert night.status == "done" and night.results.counts["claims"] > 0


def test_a_message_of_one_endless_word_is_worked_on(home: Path) -> None:
    """Chat without spaces, such as a blob or another script, is shortened, not refused."""
    config = make_vault().model_copy(update={"max_prompt_tokens": 1024})
    kind, session, start, said = CONVERSATIONS[0]
    blob = "缓存保留条目" * 3000
    write_session(home, kind, session, start, [*said, ("user", blob), ("assistant", blob)])
    night = run_night(config, Script())
    assert night.status == "done" and not night.results.rejected
    for asked in night.model.asked:
        assert len(asked.ask.prompt.split()) < 1024


def test_the_pages_whose_rules_a_prompt_has_are_the_ones_its_file_names(home: Path) -> None:
    """So that who has written too much is sent to the right page."""
    config = make_vault()
    for kind, session, start, said in CONVERSATIONS:
        write_session(home, kind, session, start, said)
    pages = ("Chunking.md", "Editorial_Guidelines.md", "Article_Conventions.md")
    for page in pages:
        path = config.vault / "Meta" / page
        path.write_text(f"{path.read_text('utf-8')}\n- As {page} says.\n", "utf-8")
    night = run_night(config)
    prompts = Prompts(folder("prompts"))
    seen = {asked.purpose: asked.ask.system for asked in night.model.asked}
    assert len(seen) >= 5
    for purpose, system in seen.items():
        named = [page for page in pages if f"As {page} says" in system]
        assert named == sorted(prompts.get(purpose).pages, key=pages.index), purpose


# ------------------------------------------------------------------ the real model


@pytest.mark.model
@pytest.mark.parametrize("name", ["synthesize/claims", "chunk/keep", "cluster/route"])
def test_the_real_template_takes_what_was_made_to_fit(
    smollm: MlxModel, models_dir: Path, name: str
) -> None:
    """By the model's own count with its template around it, and not far under the limit."""
    prompts = Prompts(folder("prompts")).within(1500, smollm.count)
    places = prompts.get(name).places()
    text = "\n".join(f"USER: line {n} of 漢字 and `code` {n * 7919:x}" for n in range(3000))
    ask = prompts.ask(name, {place: "" if place == "rules" else text for place in places})
    size = len(smollm.engine.chat.encode(ask).tokens)
    assert 1200 < size <= 1500
    assert json.dumps(ask.prompt)
