"""The operator's files: YAML policy of each CONFIG_DB table, and Jinja2 text. A folder given by hand lies over ours."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.data import locate
from fabric.errors import InputError, Problem
from fabric.render.operator_yaml import parse
from fabric.render.shapes import HOST_CLASSES, SHAPES, misfits

if TYPE_CHECKING:
    import jinja2

# Keys of a site's own rows (fabric.render.site), and a folder for what an operator's templates include.
SITE, INCLUDED = "site.yaml", "include"
_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]")


class Templates:
    """Our `templates/`, with an operator's folder laid over it file by file.

    `config_db` holds the parsed policy by file name without suffix. Text templates compile once, at first use.
    """

    def __init__(self, overlay: Path | None = None) -> None:
        ours = locate("templates")
        self.folders: tuple[Path, ...] = (ours,)
        if overlay is not None:
            if not overlay.is_dir():
                raise InputError(f"{overlay}: no such folder of templates; give one laid out like railfab's templates/")
            _no_strangers(overlay, ours)
            self.folders = (overlay, *self.folders)
        self.config_db: Mapping[str, Mapping[str, Any]] = {
            name: self._policy(f"config_db/{name}.yaml", shape) for name, shape in SHAPES.items()
        }
        self._environment: jinja2.Environment | None = None
        self._kept: dict[str, Any] = {}

    def find(self, relative: str) -> Path | None:
        """The file that counts for a path below templates/, or None. InputError for what is there and is no file."""
        for folder in self.folders:
            file = folder / relative
            if file.is_file():
                return file
            if file.is_symlink() or file.exists():
                raise InputError(Problem("is no file, or leads to none", "give a file, or take it away", str(file)))
        return None

    def changed(self, pattern: str) -> bool:
        """Whether an operator's folder has such files, or anything that templates may include."""
        mine = self.folders[0]
        return len(self.folders) > 1 and (any(mine.glob(pattern)) or (mine / INCLUDED).is_dir())

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, made at the first call for `name`."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def text(self, relative: str, /, **names: Any) -> str:
        """Render a text template; InputError names the file and line of a mistake in it."""
        import jinja2

        if self._environment is None:
            self._environment = environment(self.folders)
        try:
            text = self._environment.get_template(relative).render(names)
        except jinja2.TemplateSyntaxError as error:
            raise InputError(Problem(str(error.message), "mend the template", error.filename, error.lineno)) from None
        except jinja2.TemplateNotFound as error:
            raise InputError(f"templates/{error.name}: no such template; reinstall railfab or add it") from None
        except jinja2.UndefinedError as error:
            remedy = "use a name that railfab gives the template (see templates/README.md)"
            raise InputError(Problem(f"{error.message}", remedy, *self._place(error, relative))) from None
        except Exception as error:  # a template is a program of the operator's: it may raise anything
            what = "includes itself" if isinstance(error, RecursionError) else f"{type(error).__name__}: {error}"
            raise InputError(Problem(what, "mend the template", *self._place(error, relative))) from None
        if len(self.folders) > 1 and (found := _CONTROL.search(text)):
            place = text.count("\n", 0, found.start()) + 1
            what = f"writes a control character ({found[0]!r}) into line {place} of its text"
            raise InputError(Problem(what, "take it out of the template", str(self.find(relative) or relative)))
        return text

    def _place(self, error: BaseException, relative: str) -> tuple[str, int | None]:
        """File and line of the template that raised: Jinja2 puts the template's own lines into the traceback."""
        place: tuple[str, int | None] = (str(self.find(relative) or relative), None)
        trace = error.__traceback__
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if file.endswith(".j2"):
                place = (file, trace.tb_lineno)
            trace = trace.tb_next
        return place

    @functools.cached_property
    def host_classes(self) -> Mapping[str, Any]:
        """The parsed `templates/host/classes.yaml`."""
        return self._policy("host/classes.yaml", HOST_CLASSES)

    def _policy(self, relative: str, shape: Any) -> Mapping[str, Any]:
        file = self.find(relative)
        if file is None:
            raise InputError(f"templates/{relative} is missing; reinstall railfab")
        content = parse(file)
        problems = misfits(content, shape, "", str(file))
        if problems:
            raise InputError(problems)
        return content  # type: ignore[no-any-return]


@functools.cache
def templates(overlay: Path | None = None) -> Templates:
    """The templates for an overlay folder (None: ours alone), read once a process."""
    return Templates(overlay)


def environment(folders: tuple[Path, ...]) -> jinja2.Environment:
    """The Jinja2 environment of text templates: strict, no surprises about white space, nothing escaped."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([str(folder) for folder in folders]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
    )


def _no_strangers(overlay: Path, ours: Path) -> None:
    """Refuse files that would be laid over nothing: a name mistyped is a change that never happens.

    Looked at are the folders that railfab's own templates have; what templates include stands below `include/`.
    """
    known = {file.relative_to(ours) for file in ours.rglob("*") if file.is_file()}
    problems = [
        Problem("lies over no file of railfab's templates", "correct the name, or put it below include/", str(file))
        for folder in sorted({path.parent for path in known})
        for file in sorted((overlay / folder).iterdir() if (overlay / folder).is_dir() else ())
        if file.suffix in (".yaml", ".yml", ".j2", ".jinja", ".jinja2", ".conf")
        and file.relative_to(overlay) not in known | {Path(SITE)}
    ]
    if problems:
        raise InputError(problems)
