"""Shows what is to be translated, and takes translations.

scripts/translations                  numbers of all languages
scripts/translations LANG             keys that are missing, superfluous or outdated, with the English texts
scripts/translations LANG --todo      missing and outdated English texts as JSON, to be translated in place
scripts/translations LANG --merge F   put translated texts from the file F into the language, and record them
scripts/translations LANG --record    record all texts of the language as translated from today's English
"""

import argparse
from collections.abc import Iterable, Mapping
import json
from pathlib import Path
import sys

from .languages import LANGUAGES, Keys, Language, dotted, fingerprint, languages, leaves, records_path
from .project import JsonObject, Project

__all__ = ["main"]


def main(arguments: list[str], root: Path) -> int:
    """Run the command in a repository; return its exit code."""
    parser = argparse.ArgumentParser(prog="scripts/translations", usage=__doc__)
    parser.add_argument("language", nargs="?", choices=LANGUAGES)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--todo", action="store_true")
    group.add_argument("--merge", type=Path, metavar="F")
    group.add_argument("--record", action="store_true")
    options = parser.parse_args(arguments)
    project = Project(root)
    known = {language.code: language for language in languages(project)}
    if options.language is None:
        for code in LANGUAGES:
            print(_numbers(known.get(code) or _new(project, code)))
        return 0
    language = known.get(options.language) or _new(project, options.language)
    if options.todo:
        wanted = {*language.missing, *language.outdated}
        print(_json(_nested((keys for keys in language.english if keys in wanted), language.english)))
    elif options.merge is not None:
        given = dict(leaves(json.loads(options.merge.read_text())))
        if unknown := [dotted(keys) for keys in given if keys not in language.english]:
            print("not in the English texts:", *unknown, sep="\n  ", file=sys.stderr)
            return 1
        _write(project, language, {**language.texts, **given}, given)
    elif options.record:
        _write(project, language, language.texts, language.texts)
    else:
        _list(language)
    return 0


def _new(project: Project, code: str) -> Language:
    return Language(
        code=code,
        path=project.english.with_name(f"{code}.json"),
        texts={},
        faults=(),
        english=dict(leaves(project.texts)),
        records={},
    )


def _numbers(language: Language) -> str:
    return (
        f"{language.code:8} {len(language.texts):5} texts {len(language.missing):5} missing"
        f" {len(language.superfluous):5} superfluous {len(language.outdated):5} outdated"
    )


def _list(language: Language) -> None:
    for what in ("missing", "superfluous", "outdated"):
        found: list[Keys] = getattr(language, what)
        print(f"{len(found)} {what}")
        for keys in found:
            print(f"  {dotted(keys)}: {json.dumps(language.english.get(keys, ''), ensure_ascii=False)}")


def _write(
    project: Project, language: Language, texts: Mapping[Keys, str], translated: Iterable[Keys]
) -> None:
    """Write the texts in the order of the English ones, and what the translated ones were made from."""
    order = [keys for keys in language.english if keys in texts]
    language.path.write_text(_json(_nested(order, texts)) + "\n")
    records = dict(language.records) | {
        dotted(keys): fingerprint(language.english[keys]) for keys in translated if keys in language.english
    }
    kept = {dotted(keys): records[dotted(keys)] for keys in order if dotted(keys) in records}
    path = records_path(project.root, language.code)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_json(kept) + "\n")


def _nested(order: Iterable[Keys], texts: Mapping[Keys, str]) -> JsonObject:
    result: JsonObject = {}
    for keys in order:
        place = result
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        place[keys[-1]] = texts[keys]
    return result


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path.cwd()))
