"""A page as a browser reads it, and text that would do harm in one."""

from __future__ import annotations

import re
from html.parser import HTMLParser

HOSTILE = "roads.gpkg|layername=<script>alert('x')</script>"
VOID = {"meta", "img", "br", "link", "hr", "input"}


class Page(HTMLParser):
    """What a browser would see: elements, attributes and text; fails where elements are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.words, self._open = [], [], [], []
        self.feed(text)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self._open and self._open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if "style" not in self._open[-1:]:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def squeezed(text):
    """A text without spaces, as words are compared whose elements a page may set apart."""
    return re.sub(r"\s+", "", text)


def check_self_contained(text):
    """Check that a page fetches nothing and that nothing in it runs."""
    page = Page(text)
    assert "http:" not in text and "https:" not in text and "<script" not in text
    assert not {"script", "link", "iframe", "object"} & set(page.elements)
    assert not re.search(r"url\((?!#)|@import", text)
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name != "src" or re.match("data:image/(png|jpeg);base64,", value)
        assert name not in ("href", "xlink:href") or value.startswith("#")
