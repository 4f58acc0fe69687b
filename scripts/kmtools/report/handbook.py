# SPDX-License-Identifier: GPL-2.0-only
"""Makes the handbook: a site of HTML pages from the documents of the tree, with Sphinx.

The documents are copied to a folder, which Sphinx reads. In the copies, a link to a source file is
changed to lead to a page that shows the file. Further pages are generated from the sources: the
functions and macros of the headers, and the help of each command.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kmtools.base.errors import FailedError, UnableError
from kmtools.base.paths import ROOT, get_cache_dir, read_version
from kmtools.base.processes import capture_output

# The document that becomes the first page.
HOME = Path("Documentation/README.md")
# Patterns of the documents.
DOCUMENTS = (
    "Documentation/*.md",
    "Documentation/tutorials/*.md",
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
    "results/*/README.md",
)
# In Markdown: a link, a block of code, and the heading of a section.
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^(```.*?^```\s*$)", re.M | re.S)
SECTION = re.compile(r"^## (.*)$", re.M)
# The name of a command in the help of kmarkers.
COMMAND = re.compile(r"^  ([a-z][a-z -]*?)  ", re.M)
# Matches the manual of a header: the comment at its top.
MANUAL = re.compile(r"^/\*\n(.*?)\n \*/", re.M | re.S)
# Languages of the pages that show a source file, by suffix; other files are shown without colours.
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".sh": "bash", ".json": "json", ".mk": "make"}
IMAGES = {".svg", ".png"}
MAX_SHOWN_BYTES = 300_000  # a larger file is offered for download
# Folders of kernel modules: each gets a page about the functions that it exports.
MODULES = ("patcher", "base", "immediate", "markers", "sdt", "entry", "events", "bench_modules")
OUT = ROOT / "build" / "html"
# The import statements in the script and in the style sheet of the theme furo of Debian 12, and the
# file that the style sheet imports.
THEME_IMPORT = 'import Gumshoe from "./gumshoe-patched.js";\n'
NORMALIZE_IMPORT = "@import url(/javascript/normalize.css/normalize.css);"
NORMALIZE = Path("/usr/share/javascript/normalize.css/normalize.css")


@functools.cache
def list_tracked_files() -> frozenset[Path]:
    """Return the files that git tracks. Outside of a checkout (in an unpacked archive), return all
    files, except those in build/ and in hidden folders."""
    if (ROOT / ".git").exists():
        done = capture_output(["git", "-c", f"safe.directory={ROOT}", "ls-files"], ROOT)
        if done.returncode:
            raise UnableError(f"git cannot list the files of {ROOT}: {done.stderr.strip()}")
        return frozenset(map(Path, done.stdout.splitlines()))
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return frozenset(
        path for path in paths if path.parts[0] != "build" and not path.parts[0].startswith(".")
    )


def find_tracked_files(*patterns: str) -> list[Path]:
    """Return the tracked files that match one of the patterns (see Path.glob()), as paths relative
    to the tree. The files of each pattern are sorted."""
    return [
        path
        for pattern in patterns
        for path in sorted(found.relative_to(ROOT) for found in ROOT.glob(pattern))
        if path in list_tracked_files()
    ]


def get_document_page(path: Path) -> Path:
    """Return the path of the page for the document `path`, in the folder that Sphinx reads."""
    return Path("index.md") if path == HOME else path


def get_file_page(path: Path) -> Path:
    """Return the path of the page that shows the source file or the folder `path`, in the folder
    that Sphinx reads."""
    if (ROOT / path).is_dir():
        return Path("files") / path / "index.md"
    return Path("files") / path.with_name(path.name + ".md")


class Handbook:
    """The pages of the handbook, before Sphinx converts them to HTML.

    `folder` is the folder that Sphinx reads; `documents` are the documents of the tree; `files` are
    the source files and folders that need a page of their own, because a page links to them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents = set(find_tracked_files(*DOCUMENTS))
        self.files: set[Path] = set()

    def write_site_page(self, path: Path, text: str) -> None:
        """Write a page with the text `text` to the path `path` in the folder that Sphinx reads."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def copy_raw_file(self, path: Path) -> Path:
        """Copy the file `path` to the folder that Sphinx reads, because a page includes it or links
        to it; return the path of the copy."""
        copy = Path("raw") / path
        (self.folder / copy).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, self.folder / copy)
        return copy

    def find_handbook_path(self, document: Path, path: Path) -> Path:
        """Return the path at which the handbook shows the file or folder `path` of the tree, to
        which `document` links. If this file or folder needs a page of its own, add it to
        `files`."""
        if path in self.documents:
            return get_document_page(path)
        if not (ROOT / path).exists():
            raise FailedError(f"{document}: links to {path}, which does not exist")
        if path.suffix in IMAGES or (ROOT / path).stat().st_size > MAX_SHOWN_BYTES:
            return self.copy_raw_file(path)
        self.files.add(path)
        return get_file_page(path)

    def adapt_links_to_handbook(self, document: Path, text: str) -> str:
        """Return `text`, the text of the document `document`, with each link to a file or folder of
        the tree changed to a link to the page that shows this file or folder."""

        def adapt_link_to_handbook(found: re.Match[str]) -> str:
            target = found[2]
            if "://" in target or target.startswith("mailto:"):
                return found[0]
            path = Path(os.path.normpath(document.parent / target))
            shown = self.find_handbook_path(document, path)
            relative = os.path.relpath(shown, get_document_page(document).parent)
            return f"{found[1]}{relative}{found[3]}"

        parts = FENCE.split(text)
        return "".join(
            part if part.startswith("```") else LINK.sub(adapt_link_to_handbook, part)
            for part in parts
        )

    def write_document_pages(self, generated: Sequence[Path]) -> None:
        """Write the pages of the documents. The first page gets the tables of contents of the site,
        which also list the pages at the paths `generated`."""
        for path in sorted(self.documents):
            text = self.adapt_links_to_handbook(path, (ROOT / path).read_text(encoding="utf-8"))
            if path == HOME:
                text += "".join(make_handbook_contents(text, generated))
            self.write_site_page(get_document_page(path), text)

    def write_file_pages(self) -> None:
        """Write the pages of source files and folders, until each file and folder to which a page
        links has a page."""
        written: set[Path] = set()
        while todo := self.files - written:
            for path in sorted(todo):
                show = (
                    self.make_folder_page_body
                    if (ROOT / path).is_dir()
                    else self.make_file_page_body
                )
                head = f"---\norphan: true\n---\n\n# {path}\n\n"
                self.write_site_page(get_file_page(path), head + show(path))
            written |= todo

    def make_file_page_body(self, path: Path) -> str:
        """Return the text of the page of the source file `path`, without its title."""
        language = LANGUAGES.get(path.suffix, "none")
        raw = self.copy_raw_file(path)
        options = f":language: {language}\n:linenos:\n:tab-width: 8\n"
        return f"```{{literalinclude}} /{raw}\n{options}```\n"

    def make_folder_page_body(self, path: Path) -> str:
        """Return the text of the page of the folder `path`, without its title: a link to each file
        below the folder."""
        lines = []
        for file in find_tracked_files(f"{path}/**/*"):
            target = os.path.relpath(
                self.find_handbook_path(path, file), get_file_page(path).parent
            )
            lines.append(f"- [{file.relative_to(path)}]({target})\n")
        return "".join(lines)

    def write_header_pages(self, script: Path) -> list[Path]:
        """Write a page for each header with kernel-doc comments, and a page for the exported
        functions of each module; return the paths of these pages. `script` is the kernel's script
        kernel-doc."""
        pages = []
        for path in find_tracked_files("include/kmarkers/*.h", "include/linux/*.h"):
            header = path.relative_to("include")
            name = f"headers/{header.with_suffix('')}"
            pages += self.write_kernel_doc_page(script, name, f"<{header}>", [path])
        for module in MODULES:
            paths = find_tracked_files(f"{module}/*.c")
            pages += self.write_kernel_doc_page(
                script, f"functions/{module}", f"Functions that {module}/ exports", paths, "-export"
            )
        return pages

    def write_kernel_doc_page(
        self, script: Path, name: str, title: str, paths: Sequence[Path], *options: str
    ) -> list[Path]:
        """Write the page `name` with the comments that kernel-doc, called with `options`, finds in
        the files `paths`. Return the path of the page in a list; an empty list if there is no
        comment."""
        done = capture_output(
            ["perl", script, "-rst", "-sphinx-version", "5.3.0", *options, *paths], ROOT
        )
        text = done.stdout.strip()
        if not text:
            return []
        if not options:
            text = f"{quote_header_manual(ROOT / paths[0])}\n\n{text}"
        page = Path("reference") / f"{name}.rst"
        line = "=" * len(title)
        self.write_site_page(page, f"{line}\n{title}\n{line}\n\n{text}\n")
        return [page]

    def write_command_page(self) -> Path:
        """Write the page with the help of each command; return the path of the page."""
        page = Path("reference/commands.md")
        text = "# Commands\n\nEach command of `kmarkers`, as its `--help` prints it.\n"
        for name in COMMAND.findall(capture_command_help()):
            text += f"\n## {name}\n\n```none\n{capture_command_help(*name.split())}\n```\n"
        self.write_site_page(page, text)
        return page


def quote_header_manual(header: Path) -> str:
    """Return the manual of a header, which is the comment at its top, as a literal block of
    reStructuredText; "" if the header has none."""
    found = MANUAL.search(header.read_text(encoding="utf-8"))
    lines = [re.sub(r"^ \* ?", "", line) for line in found[1].splitlines()] if found else []
    return "::\n\n" + "".join(f"   {line}".rstrip() + "\n" for line in lines) if lines else ""


def capture_command_help(*words: str) -> str:
    """Return the output of --help of kmarkers, or of its command that `words` name."""
    program = ROOT / "scripts" / "kmarkers"
    done = capture_output([sys.executable, program, *words, "--help"], ROOT, {"COLUMNS": "96"})
    if done.returncode:
        raise FailedError(f"kmarkers {' '.join(words)} --help failed: {done.stderr.strip()}")
    return done.stdout.rstrip()


def make_handbook_contents(text: str, generated: Sequence[Path]) -> Iterator[str]:
    """Yield a hidden table of contents for each section of `text`, the text of the first page. The
    table lists the pages to which the section links. The table of the section Reference also lists
    the pages `generated`."""
    sections = SECTION.split(text)[1:]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        pages = [page for _, page, _ in LINK.findall(body) if page.endswith(".md")]
        if title == "Reference":
            pages += [str(page) for page in generated]
        entries = "\n".join(f"/{page}" for page in pages)
        yield f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{entries}\n```\n"


def find_kernel_doc() -> Path:
    """Return the path of the script kernel-doc from an installed package linux-kbuild-*, or from
    the package of an unpacked test kernel. The script must be in Perl: the Python script of newer
    kernels needs sources that the packages lack."""
    pattern = "usr/lib/linux-kbuild-*/scripts/kernel-doc"
    for script in (
        *sorted(Path("/").glob(pattern)),
        *sorted(get_cache_dir().glob(f"kernels/*/{pattern}")),
    ):
        if "perl" in script.read_text(encoding="utf-8", errors="replace").splitlines()[0]:
            return script
    raise UnableError("kernel-doc is missing: fetch a test kernel with scripts/setup")


def find_sphinx() -> str:
    """Return the path of the distribution's program sphinx-build. Another sphinx-build is not used,
    because the theme and the parser of Markdown are packages of the distribution."""
    if program := shutil.which("sphinx-build", path="/usr/bin"):
        return program
    raise UnableError("Sphinx is missing: run scripts/setup --html")


def describe_tree_commit() -> str:
    """Return the commit of the tree, with the suffix "-dirty" if files were changed since the
    commit. In an unpacked archive, the commit is in the file COMMIT, which scripts/package has
    written."""
    if (written := ROOT / "COMMIT").is_file():
        return written.read_text(encoding="utf-8").strip()
    command = ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"]
    return capture_output(command, ROOT).stdout.strip()


def make_theme_self_contained(site: Path) -> None:
    """Copy into the theme's script and style sheet the text of the files that they import. In
    Debian 12, the script imports a module, but browsers load no modules into a page without a
    server; and the style sheet imports a file from a web server's root. Later themes import
    nothing."""
    static = site / "_static"
    script, style = static / "scripts" / "furo.js", static / "styles" / "furo.css"
    text = script.read_text(encoding="utf-8")
    if text.startswith(THEME_IMPORT):
        imported = (script.parent / "gumshoe-patched.js").read_text(encoding="utf-8")
        script.write_text(imported + text.removeprefix(THEME_IMPORT), encoding="utf-8")
    text = style.read_text(encoding="utf-8")
    if NORMALIZE_IMPORT in text:
        style.write_text(
            text.replace(NORMALIZE_IMPORT, NORMALIZE.read_text(encoding="utf-8")), encoding="utf-8"
        )


def make_handbook() -> None:
    """Write the site to build/html. Any warning of Sphinx is an error."""
    sphinx = find_sphinx()
    folder = ROOT / "build" / "handbook"
    shutil.rmtree(folder, ignore_errors=True)
    handbook = Handbook(folder)
    pages = [*handbook.write_header_pages(find_kernel_doc()), handbook.write_command_page()]
    handbook.write_document_pages(pages)
    handbook.write_file_pages()
    shutil.copyfile(ROOT / "Documentation" / "conf.py", folder / "conf.py")
    done = capture_output(
        [sphinx, "-q", "-W", "--keep-going", "-b", "html", folder, OUT],
        env={
            "KMARKERS_VERSION": read_version(),
            "KMARKERS_COMMIT": f"commit {describe_tree_commit()}",
        },
    )
    if done.returncode:
        raise FailedError(f"Sphinx cannot convert the documents:\n{done.stderr.strip()}")
    make_theme_self_contained(OUT)
    print(f"handbook: {OUT / 'index.html'}")
