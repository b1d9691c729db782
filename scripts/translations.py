"""The command behind `scripts/translations`: shows what is to be translated, and takes translations.

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

from scripts.validator.languages import LANGUAGES, Keys, Language, fingerprint, language, leaves, records_path
from scripts.validator.project import JsonObject, Project


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
    if options.language is None:
        for code in LANGUAGES:
            _show(language(project, code), keys=False)
        return 0
    chosen = language(project, options.language)
    if options.todo:
        wanted = {*chosen.missing, *chosen.outdated}
        print(_json(_nested((keys for keys in chosen.english if keys in wanted), chosen.english)))
    elif options.merge is not None:
        given = dict(leaves(json.loads(options.merge.read_text())))
        if unknown := [".".join(keys) for keys in given if keys not in chosen.english]:
            print("not in the English texts:", *unknown, sep="\n  ", file=sys.stderr)
            return 1
        _write(project, chosen, {**chosen.texts, **given}, given)
    elif options.record:
        _write(project, chosen, chosen.texts, chosen.texts)
    else:
        _show(chosen, keys=True)
    return 0


def _show(chosen: Language, *, keys: bool) -> None:
    for what in ("missing", "superfluous", "outdated"):
        found: list[Keys] = getattr(chosen, what)
        print(f"{chosen.code:8} {len(found):5} of {len(chosen.english)} texts {what}")
        for path in found if keys else ():
            print(f"  {'.'.join(path)}: {json.dumps(chosen.english.get(path, ''), ensure_ascii=False)}")


def _write(project: Project, chosen: Language, texts: Mapping[Keys, str], translated: Iterable[Keys]) -> None:
    """Write the texts in the order of the English ones, and what the translated ones were made from."""
    order = [keys for keys in chosen.english if keys in texts]
    chosen.path.write_text(_json(_nested(order, texts)) + "\n")
    records = dict(chosen.records) | {
        ".".join(keys): fingerprint(chosen.english[keys]) for keys in translated if keys in chosen.english
    }
    kept = {name: records[name] for keys in order if (name := ".".join(keys)) in records}
    path = records_path(project.root, chosen.code)
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
