"""The operator's files: YAML policy of each CONFIG_DB table, and Jinja2 text. A folder given by hand lies over ours."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from fabric.data import locate
from fabric.errors import InputError, Problem

if TYPE_CHECKING:
    import jinja2


_HOST_CLASS = {
    "network": ("netplan", "networkd"),
    "nic": ("auto", "nvidia", "broadcom"),
    "lldp": ("lldpd", "networkd", "none"),
    "table_base": int,
    "rail_routes": int,
    "management": list,
    "qps": int,
    "timeout": int,
    "gid_index": int,
}
_HOST_CLASSES = {"default": _HOST_CLASS, "classes": {...: {f"?{key}": kind for key, kind in _HOST_CLASS.items()}}}

# The shape of each policy file: key -> kind. A kind is a type, the words to choose from, or a mapping of the same.
# `...` stands for any key; a key after `?` may be left out.
_TEXT = (str, int)
_SHAPES: dict[str, Any] = {
    "device": {
        "metadata": {...: _TEXT},
        "features": {...: _TEXT},
        "management_port": {...: _TEXT},
        "host_type": str,
    },
    "ports": {"description": str, "fields": {...: _TEXT}},
    "services": {
        "ntp": {...: _TEXT},
        "ntp_server": {...: _TEXT},
        "syslog_server": {...: _TEXT},
        "dns_nameserver": {...: _TEXT},
    },
    "counters": {...: {"?interval": int, "?since": _TEXT, "?lossless": str}},
    "hash": {"default": {...: (str, list)}, "roles": {...: {...: (str, list)}}},
    "qos": {
        "map": str,
        "lossy_group_map": str,
        "wred_profile": str,
        "traffic_classes": int,
        "default_class": int,
        "dscp": {...: int},
        "schedulers": {...: {...: _TEXT}},
        "queues": {"count": int, "lossless": str, "cnp": str, "other": str},
        "wred": {"ecn": str, "colours": list},
        "pfc_to_group_asics": list,
    },
    "buffers": {
        "group_lossy": list,
        "queue_lossless": list,
        "queue_lossy": list,
        "lossless_pool": str,
        "dynamic": {"lossless_mtu": int, "small_packet_percentage": int},
    },
    "watchdog": {"port": {...: {"value": _TEXT, "?since": _TEXT, "?asics": list}}},
}


class Templates:
    """Our `templates/`, with an operator's folder laid over it file by file.

    `config_db` holds the parsed policy by file name without suffix. Text templates compile once, at first use.
    """

    def __init__(self, overlay: Path | None = None) -> None:
        self.folders: tuple[Path, ...] = (locate("templates"),)
        if overlay is not None:
            if not overlay.is_dir():
                raise InputError(f"{overlay}: no such folder of templates; give one laid out like railfab's templates/")
            self.folders = (overlay, *self.folders)
        self.config_db: Mapping[str, Mapping[str, Any]] = {
            name: self._policy(f"config_db/{name}.yaml", shape) for name, shape in _SHAPES.items()
        }
        self._environment: jinja2.Environment | None = None
        self._kept: dict[str, Any] = {}

    def find(self, relative: str) -> Path | None:
        """The file that counts for a path below templates/, or None."""
        for folder in self.folders:
            if (folder / relative).is_file():
                return folder / relative
        return None

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
            return self._environment.get_template(relative).render(names)
        except jinja2.TemplateSyntaxError as error:
            raise InputError(Problem(str(error.message), "mend the template", error.filename, error.lineno)) from None
        except jinja2.TemplateNotFound as error:
            raise InputError(f"templates/{error.name}: no such template; reinstall railfab or add it") from None
        except jinja2.UndefinedError as error:
            raise InputError(
                Problem(
                    f"{error.message}",
                    "use a name that railfab gives the template (see templates/README.md)",
                    str(self.find(relative) or relative),
                )
            ) from None

    @functools.cached_property
    def host_classes(self) -> Mapping[str, Any]:
        """The parsed `templates/host/classes.yaml`."""
        return self._policy("host/classes.yaml", _HOST_CLASSES)

    def _policy(self, relative: str, shape: Any) -> Mapping[str, Any]:
        file = self.find(relative)
        if file is None:
            raise InputError(f"templates/{relative} is missing; reinstall railfab")
        content = parse(file)
        problems = list(_misfits(content, shape, "", str(file)))
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


def loader() -> Any:
    """PyYAML's safe loader, in C where there is one."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse(file: Path) -> Any:
    """The content of a YAML file; InputError with file and line for what is no YAML."""
    try:
        return yaml.load(file.read_bytes(), Loader=loader())  # noqa: S506 - a safe loader, in C
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise InputError(Problem(str(error.problem), "mend the YAML", str(file), line)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(Problem(str(error), "mend the YAML", str(file))) from None


def _misfits(content: Any, shape: Any, path: str, file: str) -> list[Problem]:
    if isinstance(shape, dict):
        if not isinstance(content, dict):
            return [Problem("must be a mapping", "see railfab's own file of this name", file, path=path or None)]
        return _mapping_misfits(content, shape, path, file)
    if isinstance(shape, tuple) and all(isinstance(word, str) for word in shape):
        if content in shape:
            return []
        return [Problem(f"must be one of {', '.join(shape)}, is {content!r}", "", file, path=path)]
    if isinstance(content, bool) or not isinstance(content, shape):
        hint = "quote it: YAML reads on, off, yes and no as true and false" if isinstance(content, bool) else ""
        kinds = " or ".join(kind.__name__ for kind in (shape if isinstance(shape, tuple) else (shape,)))
        return [Problem(f"must be {kinds}, is {content!r}", hint, file, path=path)]
    if isinstance(content, list):
        bad = [item for item in content if not isinstance(item, str)]
        return [Problem(f"must hold text only, has {item!r}", "", file, path=path) for item in bad]
    return []


def _mapping_misfits(content: dict[Any, Any], shape: dict[Any, Any], path: str, file: str) -> list[Problem]:
    problems: list[Problem] = []
    free = shape.get(...)
    known = {str(key).removeprefix("?"): kind for key, kind in shape.items() if key is not ...}
    for key, value in content.items():
        where = f"{path}.{key}" if path else str(key)
        kind = known.get(str(key), free)
        if kind is None:
            problems.append(Problem("unknown key", f"known here: {', '.join(known)}", file, path=where))
        else:
            problems += _misfits(value, kind, where, file)
    required = (key for key in shape if key is not ... and not key.startswith("?"))
    problems += [
        Problem("missing", "see railfab's own file of this name", file, path=f"{path}.{key}" if path else key)
        for key in required
        if key not in content
    ]
    return problems
