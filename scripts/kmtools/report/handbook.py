# SPDX-License-Identifier: GPL-2.0-only
"""Makes the handbook: a site of HTML pages from the documents of the tree, with Sphinx.

The pages are copied to a folder of their own. There each link to a source file leads to a page that
shows the file, and pages are added for what is written in the sources: the functions and macros of
the headers, and the help of each command.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT, get_cache_dir, read_version
from kmtools.base.processes import capture_output

HOME = Path("Documentation/README.md")
DOCUMENTS = (
    "Documentation/*.md",
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
    "results/reference/README.md",
)
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^(```.*?^```\s*$)", re.M | re.S)
COMMAND = re.compile(r"^  ([a-z -]*[a-z])  ", re.M)  # in the help of kmarkers
MANUAL = re.compile(r"^/\*\n(.*?)\n \*/", re.M | re.S)
SECTION = re.compile(r"^## (.*)$", re.M)
# Languages of the pages that show a source file, by suffix; other files are shown without colours.
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".sh": "bash", ".json": "json", ".mk": "make"}
IMAGES = {".svg", ".png"}
MAX_SHOWN_BYTES = 300_000  # a larger file is offered for download
# Folders whose exported functions have a page; a page for each.
MODULES = ("patcher", "base", "immediate", "markers", "sdt", "entry", "events", "bench_modules")
OUT = ROOT / "build" / "html"


def list_tracked(*patterns: str) -> list[Path]:
    """Return the files of the tree that git tracks and that match a pattern, sorted."""
    done = capture_output(["git", "ls-files", *patterns], ROOT)
    if done.returncode:
        raise UnableError(f"the handbook is made in a checkout of git: {done.stderr.strip()}")
    return [Path(line) for line in done.stdout.splitlines()]


def place_document(path: Path) -> Path:
    """Return where a document of the tree stands in the folder that Sphinx reads."""
    return Path("index.md") if path == HOME else path


def place_file(path: Path) -> Path:
    """Return where the page of a source file or of a folder stands."""
    if (ROOT / path).is_dir():
        return Path("files") / path / "index.md"
    return Path("files") / path.with_name(path.name + ".md")


class Handbook:
    """The folder that Sphinx reads.

    `folder`: the folder; `documents`: the documents of the tree; `files`: the source files and
    folders that need a page of their own, because a page links to them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents = {
            path for pattern in DOCUMENTS for path in list_tracked(f":(glob){pattern}")
        }
        self.files: set[Path] = set()

    def write_page(self, path: Path, text: str) -> None:
        """Write a page."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def copy_raw(self, path: Path) -> Path:
        """Copy a file that pages include, show or offer; return its place."""
        place = Path("raw") / path
        (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, self.folder / place)
        return place

    def find_target(self, path: Path) -> Path:
        """Return the place of what a document links to by the path of a file or folder."""
        if path in self.documents:
            return place_document(path)
        if not (ROOT / path).exists():
            raise FailedError(f"a document links to {path}, which does not exist")
        if path.suffix in IMAGES or (ROOT / path).stat().st_size > MAX_SHOWN_BYTES:
            return self.copy_raw(path)
        self.files.add(path)
        return place_file(path)

    def change_links(self, page: Path, text: str) -> str:
        """Return the text of a document with its links as they must be in the handbook."""

        def change_link(found: re.Match[str]) -> str:
            target = found[2]
            if "://" in target or target.startswith("mailto:"):
                return found[0]
            path = Path(os.path.normpath(page.parent / target))
            place = os.path.relpath(self.find_target(path), place_document(page).parent)
            return f"{found[1]}{place}{found[3]}"

        parts = FENCE.split(text)
        return "".join(
            part if part.startswith("```") else LINK.sub(change_link, part) for part in parts
        )

    def write_documents(self, generated: Sequence[Path]) -> None:
        """Write the documents. The first page gets the tables of contents of the site."""
        for path in sorted(self.documents):
            text = self.change_links(path, (ROOT / path).read_text(encoding="utf-8"))
            if path == HOME:
                text += "".join(make_contents(text, generated))
            self.write_page(place_document(path), text)

    def write_files(self) -> None:
        """Write the pages of source files and folders, until each that is linked to has one."""
        written: set[Path] = set()
        while todo := self.files - written:
            for path in sorted(todo):
                show = self.list_folder if (ROOT / path).is_dir() else self.show_file
                head = f"---\norphan: true\n---\n\n# {path}\n\n"
                self.write_page(place_file(path), head + show(path))
            written |= todo

    def show_file(self, path: Path) -> str:
        """Return the page of a source file, behind its title."""
        language = LANGUAGES.get(path.suffix, "none")
        raw = self.copy_raw(path)
        options = f":language: {language}\n:linenos:\n:tab-width: 8\n"
        return f"```{{literalinclude}} /{raw}\n{options}```\n"

    def list_folder(self, path: Path) -> str:
        """Return the page of a folder, behind its title: a link to each file below it."""
        lines = []
        for file in list_tracked(str(path)):
            target = os.path.relpath(self.find_target(file), place_file(path).parent)
            lines.append(f"- [{file.relative_to(path)}]({target})\n")
        return "".join(lines)

    def write_headers(self, script: Path) -> list[Path]:
        """Write a page for each header with kernel-doc comments, and for the exported functions of
        each module; return their places."""
        pages = []
        for path in list_tracked("include/kmarkers/*.h", "include/linux/*.h"):
            header = path.relative_to("include")
            place = f"headers/{header.with_suffix('')}"
            pages += self.write_kernel_doc(script, place, f"<{header}>", [path])
        for name in MODULES:
            paths = list_tracked(f":(glob){name}/*.c")
            pages += self.write_kernel_doc(
                script, f"functions/{name}", f"Functions that {name}/ exports", paths, "-export"
            )
        return pages

    def write_kernel_doc(
        self, script: Path, name: str, title: str, paths: Sequence[Path], *options: str
    ) -> list[Path]:
        """Write a page of what kernel-doc finds in files; return its place, or nothing if there is
        no comment."""
        done = capture_output(
            ["perl", script, "-rst", "-sphinx-version", "5.3.0", *options, *paths], ROOT
        )
        text = done.stdout.strip()
        if not text:
            return []
        if not options:
            text = f"{quote_manual(ROOT / paths[0])}\n\n{text}"
        place = Path("reference") / f"{name}.rst"
        line = "=" * len(title)
        self.write_page(place, f"{line}\n{title}\n{line}\n\n{text}\n")
        return [place]

    def write_commands(self) -> Path:
        """Write the page with the help of each command; return its place."""
        place = Path("reference/commands.md")
        text = "# Commands\n\nEach command of `kmarkers`, as its `--help` prints it.\n"
        for name in COMMAND.findall(show_help()):
            text += f"\n## {name}\n\n```none\n{show_help(*name.split())}\n```\n"
        self.write_page(place, text)
        return place


def quote_manual(header: Path) -> str:
    """Return the comment at the top of a header, its manual, as a block of reStructuredText."""
    found = MANUAL.search(header.read_text(encoding="utf-8"))
    lines = [re.sub(r"^ \* ?", "", line) for line in found[1].splitlines()] if found else []
    return "::\n\n" + "".join(f"   {line}\n".rstrip(" ") for line in lines) if lines else ""


def show_help(*words: str) -> str:
    """Return the help of kmarkers or of a command."""
    program = ROOT / "scripts" / "kmarkers"
    done = capture_output([sys.executable, program, *words, "--help"], ROOT, {"COLUMNS": "96"})
    if done.returncode:
        raise FailedError(f"kmarkers {' '.join(words)} --help failed: {done.stderr.strip()}")
    return done.stdout.rstrip()


def make_contents(text: str, generated: Sequence[Path]) -> Iterator[str]:
    """Yield a hidden table of contents for each section of the first page; the last one has the
    generated pages, too."""
    sections = SECTION.split(text)[1:]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        pages = [page for _, page, _ in LINK.findall(body) if page.endswith(".md")]
        if title == "Reference":
            pages += [str(page) for page in generated]
        entries = "\n".join(f"/{page}" for page in pages)
        yield f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{entries}\n```\n"


def find_kernel_doc() -> Path:
    """Return the script kernel-doc of a test kernel. Newer kernels have one in Python, which needs
    more of the kernel's sources than its packages have."""
    for script in sorted(
        get_cache_dir().glob("kernels/*/usr/lib/linux-kbuild-*/scripts/kernel-doc")
    ):
        if "perl" in script.read_text(encoding="utf-8", errors="replace").splitlines()[0]:
            return script
    raise UnableError("kernel-doc is missing: fetch a test kernel with scripts/setup")


def find_sphinx() -> str:
    """Return the path of Sphinx's program. It is a Python program of the distribution, which has
    the theme and the parser of Markdown, too."""
    if program := shutil.which("sphinx-build", path="/usr/bin"):
        return program
    raise UnableError("Sphinx is missing: run scripts/setup --html")


def describe_commit() -> str:
    """Return the commit of the tree, with "-dirty" behind it if files were changed since."""
    return capture_output(["git", "describe", "--always", "--dirty"], ROOT).stdout.strip()


def make_handbook() -> None:
    """Write the site to build/html. Any warning of Sphinx is an error."""
    sphinx = find_sphinx()
    folder = ROOT / "build" / "handbook"
    shutil.rmtree(folder, ignore_errors=True)
    handbook = Handbook(folder)
    pages = [*handbook.write_headers(find_kernel_doc()), handbook.write_commands()]
    handbook.write_documents(pages)
    handbook.write_files()
    shutil.copyfile(ROOT / "Documentation" / "conf.py", folder / "conf.py")
    done = capture_output(
        [sphinx, "-q", "-W", "--keep-going", "-b", "html", folder, OUT],
        env={"KMARKERS_VERSION": read_version(), "KMARKERS_COMMIT": f"commit {describe_commit()}"},
    )
    if done.returncode:
        raise FailedError(f"Sphinx found faults:\n{done.stderr.strip()}")
    print(f"handbook: {OUT / 'index.html'}")
