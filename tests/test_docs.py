"""The site is built without a warning and loads nothing from elsewhere; who follows a page sees what it shows."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import giskard.checks
from giskard.checks import Check
from giskard.checks.core import late
from tests.pages import blocks_of, followed, without_times

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("**/*.md"))
FOLLOWED = [page for page in PAGES if any(block.language == "console" for block in blocks_of(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.name)
def test_who_follows_the_page_sees_what_it_shows(page, tmp_path):
    for block, printed in followed(page, tmp_path):  # .ci/refresh-docs writes it anew
        assert without_times(printed) == without_times(block.text), f"{page.name}, line {block.line}"


# --- links -------------------------------------------------------------------------------

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors_of(page):
    """The anchors of a page's headings, as GitHub and the site make them."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


@pytest.mark.parametrize("page", [README, ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        url = urlsplit(link)
        if url.scheme:
            continue
        there = (page.parent / unquote(url.path)).resolve() if url.path else page
        assert there.exists(), link
        assert there.is_relative_to(ROOT), link
        assert not url.fragment or url.fragment in anchors_of(there), link


def test_the_readme_links_every_page():
    linked = {link.partition("#")[0] for link in LINK.findall(README.read_text(encoding="utf-8"))}

    assert linked >= {f"docs/{page.name}" for page in PAGES}


def test_the_page_on_checks_has_every_check():
    text = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    for name in giskard.checks.__all__:  # what registers when it is loaded does so now
        getattr(giskard.checks, name)
    names = {Check._kinds[kind].__name__ for kind in late.kinds("check")}

    assert {name for name in names if f"`{name}`" not in text} == set()


# --- the site ----------------------------------------------------------------------------

ELSEWHERE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
# Elements whose attribute makes a browser fetch something, unasked; <a href> is for the reader to follow.
FETCHES = {"src", "srcset", "poster", "data", "action", "formaction", "background", "manifest"}
LINKS_THAT_FETCH_NOTHING = {"canonical", "alternate", "author", "license", "next", "prev", "help", "search"}


class Loads(HTMLParser):
    """Collects the addresses that a page makes a browser fetch, and the styles inside it."""

    def __init__(self):
        super().__init__()
        self.urls = []
        self.styles = []
        self._in_style = False

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self._in_style = tag == "style"
        self.urls += [value for name, value in attrs if name in FETCHES and value]
        if tag == "link" and not set((given.get("rel") or "").split()) <= LINKS_THAT_FETCH_NOTHING:
            self.urls.append(given.get("href") or "")
        if tag == "use":
            self.urls += [value for name, value in attrs if name.endswith("href") and value]
        if given.get("style"):
            self.styles.append(given["style"])
        if tag == "meta" and (given.get("http-equiv") or "").lower() == "refresh":
            self.urls.append((given.get("content") or "").partition("=")[2])

    def handle_data(self, data):
        if self._in_style:
            self.styles.append(data)

    def handle_endtag(self, tag):
        self._in_style = False


def fetched_by_css(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.findall(r"(?:url\(\s*['\"]?|@import\s+['\"])([^'\")]+)", text)


def addresses_in_js(text):
    """Every text that begins with an address, whatever becomes of it; but for the names of XML namespaces."""
    found = re.findall(r"""['"`]((?:(?:https?|wss?)://|//[\w-]+\.)[^'"`\s]+)""", text)
    return [url for url in found if not re.match(r"https?://www\.w3\.org/(?:1999|2000)/", url)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if find_spec("material") is None or find_spec("mkdocs") is None:
        pytest.skip("the extra 'docs' is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_site_has_every_page(site):
    assert {page.stem for page in PAGES} <= {page.stem for page in site.glob("*.html")}


@pytest.mark.slow
def test_no_page_loads_anything_from_another_host(site):
    found = []
    for file in site.rglob("*"):
        if file.suffix not in {".html", ".css", ".js", ".svg", ".xml", ".json"}:
            continue
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".css":
            urls = fetched_by_css(text)
        elif file.suffix == ".js":
            urls = addresses_in_js(text)
        elif file.suffix in {".html", ".svg"}:
            page = Loads()
            page.feed(text)
            urls = page.urls + [url for style in page.styles for url in fetched_by_css(style)]
        else:
            urls = []
        found += [(str(file.relative_to(site)), url) for url in urls if ELSEWHERE.match(url)]

    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//cdn.example/x.css">',
        '<img src="http://cdn.example/x.png">',
        '<link rel="preconnect" href="https://fonts.example">',
        '<p style="background: url(https://cdn.example/x.png)">',
        "<style>@import 'https://cdn.example/x.css';</style>",
        '<svg><use xlink:href="https://cdn.example/x.svg#a"></use></svg>',
    ],
)
def test_what_a_page_loads_is_found(text):
    page = Loads()
    page.feed(text + '<a href="https://example.com">read on</a>')

    urls = page.urls + [url for style in page.styles for url in fetched_by_css(style)]

    assert [url for url in urls if ELSEWHERE.match(url)] != []
    assert "https://example.com" not in urls


@pytest.mark.parametrize(
    "text", ["fetch('https://cdn.example/x')", 'e.src="//cdn.example/x.js"', "u=`wss://cdn.example/${x}`"]
)
def test_what_a_script_may_load_is_found(text):
    assert addresses_in_js(text) != []
