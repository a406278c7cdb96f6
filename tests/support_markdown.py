"""Markdown for property tests: any text, text made of Markdown's own pieces, and nasty files."""

from __future__ import annotations

from hypothesis import strategies as st

_PIECES = (
    "\n", "\n\n", "\r\n", "\r", "\x0c", "\u2028", "\x00", "\ufeff", "\t", " ", "  ", "    ",
    "---", "---\n", "title: x\n", "===", "# ", "## ", "### ", "## History\n", "## References\n",
    "- ", "* ", "1. ", "2) ", "> ", ">", "```", "```\n", "~~~\n", "`", "``", "| a | b |\n",
    "|---|---|\n", "<div>\n", "</div>", "<!-- ", "-->", "<script>", "[^1]", "[^1]: ", "[^knuth]",
    "[^knuth]: note\n", "[[", "]]", "[[Page|shown]]", "![[embed]]", "%%", "$$", "\\", "word",
    "A sentence.", " Next one!", "你好。", "مرحبا", "🧑‍💻", "- 2026-01-02: was so.[^1]\n",
    "[^1]: `conv:1a2b3c4d` (2026-11-28, pi, message 1) — t\n",
)  # fmt: skip

markdown_pages = st.lists(st.sampled_from(_PIECES), max_size=40).map("".join)
any_text = st.one_of(st.text(), markdown_pages)

NASTY = {
    "empty": "",
    "only blank": "\n \n\t\n",
    "no final newline": "# A\n\ntext",
    "lone carriage returns": "# A\r\rtext\r- x\r",
    "crlf": "---\r\ntitle: A\r\n---\r\n# A\r\n\r\ntext\r\n",
    "byte order mark": "\ufeff---\ntitle: A\n---\n# A\n",
    "frontmatter not closed": "---\ntitle: A\n\n# A\n",
    "frontmatter twice": "---\ntitle: A\n---\n---\ntitle: B\n---\n",
    "form feed and U+2028": "a\x0cb\n\n\x0c\n\u2028x\ny\u2028\n\x85z\n",
    "NUL": "a\x00b\n\n\x00\n",
    "tabs": "-\ta\n\t-\tb\n\n\tcode\n",
    "unclosed fence": "# A\n\n```python\nx = a[^9]\n\n## See also\n",
    "unclosed comment": "text\n\n<!-- hidden\n\n## References\n",
    "tilde fence with ticks": "~~~\n```\n~~~\n",
    "nested lists": "- a\n  - b\n\n    - c\n\n      para\n    ```\n    x[^9]\n    ```\n- d\n",
    "setext": "A\n===\n\nB\n---\n\ntwo\nlines\n---\n",
    "definition before a rule": "[^1]: one\n[^2]: two\n---\ntext\n",
    "table": "| a | b |\n|---|---|\n| 1[^1] | `x|y` |\ntext\n",
    "callout": "> [!note] Title\n> text[^1]\n> ```\n> [^9]\n> ```\nlazy\n",
    "html": "<details>\n<summary>s</summary>\n\n**x**\n\n</details>\n",
    "indented code": "    [^9]: code\n\ntext\n",
    "deep quote": ">" * 200 + " x\n" + "> " * 200 + "y",
    "only hashes": "#\n##\n###### \n####### seven\n",
    "spaces at the end": "text  \nmore\\\nlast   ",
}
