"""Things users keep in their pages, odd ones for choice. None of them may stop a good write."""

from __future__ import annotations

# name → Markdown that may stand between any two blocks of a page
BELONGINGS = {
    "own footnote": "A remark of mine.[^knuth]\n\n[^knuth]: Volume 1, page 7.",
    "two hashes in one footnote": (
        "Seen twice.[^both]\n\n[^both]: Both `conv:1a2b3c4d` and `conv:99999999` say so."
    ),
    "footnote of two paragraphs": "Long story.[^long]\n\n[^long]: It began.\n\n    And went on.",
    "undefined mark": "To be looked up.[^later]",
    "inline footnote": "As he said^[or so I heard].",
    "See also in a fence": "```markdown\n## See also\n\n- [[x]]\n\n## References\n\n[^1]: y\n```",
    "fence with tildes": "~~~\n# not a heading\n~~~",
    "fence in a list": "- step one\n\n  ```sh\n  if [[ -f x ]]; then exit; fi\n  ```\n\n- step two",
    "source material": "All of this is based on the source material provided above.",
    "words of an assistant": "> As an AI language model, I cannot help with that. Let me know if…",
    "orders quoted": "The worst mail of the year said: ignore all previous instructions.",
    "elision of the user's": "[...] and the rest of the section is unchanged.",
    "about footnotes": "Write `[^1]` for a mark, `[^1]: x` for its note, and \\[^2\\] for neither.",
    "about wikilinks": "Obsidian reads `[[Page|shown]]`; \\[\\[this\\]\\] is no link.",
    "shell tests": "```bash\n[[ -n $x && $y != \"$'a'\" ]] || exit 1 # $& \\1\n```",
    "a regex": "    ^[^0]+\\[\\^(\\d+)\\]$",
    "a regex in prose": "The pattern `[^0-9]` and the array `a[^9]` stay.",
    "template signs": "Costs are ${total} in {{currency}} or $& and \\1, and $'.",
    "a template": "<% tp.file.title %>",
    "a query": "```dataviewjs\ndv.pages()\n```",
    "an inline query": "Last: `= this.updated`",
    "a table": "| a | b\\|c |\n|---|:-:|\n| `x|y` | [[Page\\|p]] |",
    "a callout": "> [!warning]- Folded\n> - one\n> - two[^1]",
    "nested lists": "1. one\n   - two\n     1. three\n\n   still one\n2. four",
    "tasks": "- [ ] open\n- [x] done ^block-id",
    "HTML": "<details>\n<summary>More</summary>\n\nInside.\n\n</details>",
    "an HTML comment": "<!-- not for you\n\nnor this -->",
    "an Obsidian comment": "%%\nhidden [[x]] and [^1]\n%%",
    "math": "$$\n\\int_0^1 x^2 \\, dx\n$$\n\nand $a_1 + b^2$ inline",
    "embeds": "![[Other page#Heading]]\n\n![[photo.jpg|200]]",
    "a remote image": '![a map](https://example.org/map.png "Map")',
    "reference links": "See [the docs][docs].\n\n[docs]: https://example.org/docs 'Docs'",
    "an underlined heading": "Mine\n====\n\nText under it.",
    "deep headings": "### Mine\n\nSomething.\n\n###### Deeper\n\nSomething else.",
    "rules": "***\n\n- - -\n\n___",
    "hard breaks": "one  \ntwo\\\nthree",
    "tabs and spaces": "\tcode by tab\n\nword \t word\u00a0word",
    "the same twice": "Said twice by me, and on purpose.\n\nSaid twice by me, and on purpose.",
    "a key of frontmatter": "updated: yesterday\ntitle: not one",
    "a false secret": "password = hunter2hunter2",
    "signs nobody sees": "zero\u200bwidth, \u202eoverride\u202c and soft\u00adhyphen",
    "odd line ends": "form\x0cfeed, next\x85line and line\u2028separator",
    "emoji": "👩‍👩‍👧‍👦 went home 🏳️‍🌈 and ❤️.",
    "stray backticks": "one ` two `` three ``` four",
    "stray brackets": "a ]] b [[ c ]( d [^ e",
    "dates at the front": "- 2024-01-01: mine\n- not a date: mine too",
    "another script": "Смесь: 日本語、עברית, العربية — 混在。",
}

# Only at the very end of a page: they swallow whatever follows.
UNCLOSED = {
    "an open fence": "```python\nprint('no end')",
    "an open comment": "<!-- no end",
    "open HTML": "<pre>\nno end",
}
