"""Prints tables of several profiles side by side: `side_by_side.py ratios FOLDER` or `side_by_side.py tuning FOLDER`.

FOLDER holds the profiles, as run.sh names them: alexnet-headroom, alexnet-pytorch.
"""
import csv
import pathlib
import sys

RATIOS = [
    ("instructions_per_cycle", "per cycle"),
    ("warps_per_instruction", "warps/issued"),
    ("instructions_per_access", "issued/access"),
    ("warps_per_access", "warps/access"),
    ("loads_per_instruction", "loads/issued"),
    ("occupancy_percent", "occupancy %"),
]
FIRST = 3  # candidates of each profile


def rows(profile, *tables):
    """Rows of the first of these tables that the profile has."""
    for table in tables:
        path = profile / "tables" / f"{table}.csv"
        if path.exists():
            with path.open(newline="") as file:
                return list(csv.DictReader(file))
    return []


def ratios(profiles):
    print(f"{'network':<22} {'kernels':>8}" + "".join(f"{title:>15}" for _, title in RATIOS))
    for profile in profiles:
        counted = rows(profile, "kernel_counters", "launch_counters")
        total = counted[-1] if counted else {}
        cells = [f"{float(total[key]):.2f}" if total.get(key) else "-" for key, _ in RATIOS]
        kernels = len({row["name"] for row in rows(profile, "kernels")})
        print(f"{profile.name:<22} {kernels:>8}" + "".join(f"{cell:>15}" for cell in cells))


def tuning(profiles):
    print(f"{'network':<22} {'ms':>8}  kernel and reason")
    for profile in profiles:
        for row in rows(profile, "tuning")[:FIRST]:
            print(f"{profile.name:<22} {float(row['time_ms']):>8.3f}  {row['kernel']}: {row['reason']}")


def main():
    what, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    profiles = sorted(p.parent for p in folder.glob("*/record.json") if p.parent.name.endswith(("-headroom", "-pytorch")))
    {"ratios": ratios, "tuning": tuning}[what](profiles)


if __name__ == "__main__":
    main()
