#!/usr/bin/env python3
"""Copies a profile into tests/recordings without what names the machine: keep.py PROFILE FOLDER"""
import json
import pathlib
import sys


def command_of(words):
    """The command without paths and without -o, which says only where the files went."""
    kept, skip = [], False
    for word in words:
        if skip or word in ("-o", "--out", "--profile"):
            skip = not skip
            continue
        kept.append(pathlib.PurePath(word).name if word.startswith("/") else word)
    return kept


def main(profile, folder):
    profile, folder = pathlib.Path(profile), pathlib.Path(folder)
    record = json.loads((profile / "record.json").read_text())
    record["command"] = command_of(record["command"])
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    (folder / "record.json").write_text(json.dumps(record, separators=(",", ":")) + "\n")
    (folder / "trace.json").write_bytes((profile / "trace.json").read_bytes())
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    if size > 1_000_000:
        sys.exit(f"{folder} has {size:,} bytes: record fewer steps")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
