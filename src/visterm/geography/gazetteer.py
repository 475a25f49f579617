"""A small gazetteer: the country, the region and the nearest town of a position on earth.

``gazetteer.txt.xz`` holds 30,000 places, made of the data of GeoNames (https://www.geonames.org), which are licensed
under CC BY 4.0. ``benchmarks/gazetteer.py`` makes and measures it. A line ``=NO`` begins a country, ``-Hordaland`` a
region; then come the places, each with its latitude and longitude in hundredths of a degree less those of the place
before, and its name if it is a town of at least 15,000 people.
"""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EARTH_KM = 6371.0
#: A position farther from every known place than this is nowhere: at sea, or on the ice.
_REACH_KM = 200.0
#: A position belongs to the nearest town up to this distance.
_TOWN_KM = 30.0

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Places:
    """Of each position the number of its town, region and country among the gazetteer's names; -1 for none."""

    towns: Numbers
    regions: Numbers
    countries: Numbers


class Gazetteer:
    """Finds the names of positions.

    >>> known = Gazetteer.open()
    >>> found = known.places(np.array([60.39, -33.87, 0.0]), np.array([5.32, 151.21, -30.0]))
    >>> [known.towns[n] if n >= 0 else None for n in found.towns]
    ['Bergen', 'Sydney', None]
    >>> [known.countries[n] if n >= 0 else None for n in found.countries]
    ['Norway', 'Australia', None]
    """

    def __init__(self, text: str) -> None:
        self.countries: list[str] = []
        #: The two letters of each country by ISO 3166.
        self.codes: list[str] = []
        self.regions: list[str] = []
        self.towns: list[str] = []
        latitudes, longitudes, towns, regions, countries = [], [], [], [], []
        x = y = 0
        for line in text.splitlines():
            if line.startswith("="):
                code, _, name = line[1:].partition("\t")
                self.codes.append(code)
                self.countries.append(name)
            elif line[:1] == "-" and not line[1:2].isdigit():
                self.regions.append(line[1:])
                x = y = 0
            else:
                more_x, more_y, *town = line.split(" ", 2)
                x, y = x + int(more_x), y + int(more_y)
                latitudes.append(x / 100)
                longitudes.append(y / 100)
                countries.append(len(self.countries) - 1)
                regions.append(len(self.regions) - 1)
                towns.append(len(self.towns) if town else -1)
                self.towns += town
        self._points = _on_sphere(np.array(latitudes), np.array(longitudes))
        self._towns, self._regions, self._countries = (np.array(each, np.int32) for each in (towns, regions, countries))

    @staticmethod
    @cache
    def open() -> Gazetteer:
        """The gazetteer that comes with Visterm, read once."""
        packed = files("visterm.geography").joinpath("gazetteer.txt.xz").read_bytes()
        return Gazetteer(lzma.decompress(packed).decode("utf-8"))

    def places(self, latitudes: Floats, longitudes: Floats) -> Places:
        """The places of positions in degrees; NaN for unknown ones."""
        known = np.flatnonzero(np.isfinite(latitudes) & np.isfinite(longitudes))
        points = _on_sphere(latitudes[known], longitudes[known])
        found = [np.full(len(latitudes), -1, np.int32) for _ in range(3)]
        if len(known):
            named = np.flatnonzero(self._towns >= 0)
            near = _nearest(self._points, points, _REACH_KM)
            town = _nearest(self._points[named], points, _TOWN_KM)
            found[0][known] = np.where(town >= 0, self._towns[named[town]], -1)
            found[1][known] = np.where(near >= 0, self._regions[near], -1)
            found[2][known] = np.where(near >= 0, self._countries[near], -1)
        return Places(*found)


def kilometres(latitudes: Floats, longitudes: Floats, latitude: float, longitude: float) -> Floats:
    """The distances of positions from one, along the surface; NaN for unknown ones."""
    chord = np.linalg.norm(
        _on_sphere(latitudes, longitudes) - _on_sphere(np.array([latitude]), np.array([longitude])), axis=1
    )
    return np.asarray(2 * _EARTH_KM * np.arcsin(np.minimum(chord / 2, 1)))


def _nearest(points: Any, wanted: Any, reach: float) -> NDArray[np.intp]:
    """The nearest of ``points`` to each of ``wanted``; -1 if it is farther than ``reach`` kilometres."""
    from scipy.spatial import cKDTree

    chord, nearest = cKDTree(points).query(wanted)
    return np.where(chord <= 2 * np.sin(reach / _EARTH_KM / 2), nearest, -1)


def _on_sphere(latitudes: Floats, longitudes: Floats) -> Floats:
    """Positions as points on a sphere of radius 1, so that distances need no care at the poles and the date line."""
    up, around = np.radians(latitudes), np.radians(longitudes)
    return np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], axis=-1)
