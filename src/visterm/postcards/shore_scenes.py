"""Scenes by the water: coast and harbour, each painted from back to front."""

from __future__ import annotations

import numpy as np

from visterm.postcards import animals, buildings, land, noise, plants, skies, structures, vehicles
from visterm.postcards.canvas import HEIGHT
from visterm.postcards.easel import Easel
from visterm.postcards.light import mix, ramp


def coast(easel: Easel) -> None:
    """The sea breaking on a beach or under cliffs."""
    easel.horizon, easel.eye = easel.between(62, 108), easel.between(5.5, 9)
    bright = skies.sky(easel)
    width, cliff = easel.width, easel.chance(0.4)
    if easel.chance(0.3):
        land.hills(easel, land.meadow_tones(easel), layers=1, rise=easel.between(9, 18))
    glitter = bright if easel.light.has_sun or easel.light.hour == "night" else None
    with easel.canvas.object("sea"):
        land.water(
            easel, top=easel.horizon, tone=easel.pick(land.WATERS), swell=easel.between(0.7, 1.2), glitter=glitter
        )
    if easel.chance(0.2):
        vehicles.ship(easel, easel.between(0.15, 0.85) * width, easel.horizon + 3.5, easel.between(14, 22))
    for _ in range(easel.several(0, 3)):
        foot = easel.horizon + easel.between(6, 26)
        size = 6 + (foot - easel.horizon) * 0.6
        paint = vehicles.sailing_boat if easel.chance(0.75) else vehicles.motor_boat
        paint(easel, easel.between(0.08, 0.92) * width, foot, size)
    slope, base = easel.between(-0.16, 0.16), easel.between(138, 172)
    bend, phase = easel.between(3, 9), easel.between(0, 6)

    def shore(x: float) -> float:
        return base + slope * (x - width / 2) + bend * float(np.sin(x / 46 + phase))

    land.breakers(easel, shore, easel.horizon + 8)
    sand = easel.pick(land.SANDS)
    crest = np.array([shore(float(x)) for x in easel.canvas.across], np.float32)
    with easel.canvas.object("beach"):
        easel.lay([mix(sand, (90, 80, 70), 0.4), mix(sand, (90, 80, 70), 0.4)], crest - 1.5)
        easel.lay([mix(sand, (120, 96, 70), 0.3), sand, sand], crest + 3, stretch=(1, 2.5))
    if cliff:
        _headland(easel)
    elif easel.chance(0.22):
        _islet(easel)
    _on_the_beach(easel, base)


def _headland(easel: Easel) -> None:
    """A cliff coming in from the left, grassy above; sometimes with a lighthouse."""
    stone, canvas = easel.pick(land.STONES), easel.canvas
    end, top = easel.width * easel.between(0.3, 0.55), easel.horizon - easel.between(14, 40)
    across = canvas.across
    rough = noise.profile(easel.rng, across, wavelength=40, octaves=4) * 4
    fall = np.clip((across - end * 0.72) / (end * 0.28), 0, 1) ** 1.6
    foot = easel.horizon + easel.between(16, 34)
    crest = np.where(across < end, top + (foot - top) * fall + rough * (0.3 + fall), HEIGHT + 9).astype(np.float32)
    if easel.chance(0.45):
        buildings.lighthouse(easel, end * easel.between(0.35, 0.62), top + 3, easel.between(34, 52))
    down = canvas.down(max(0.0, float(crest.min())), foot)
    strata = noise.cloth(easel.rng, (len(down), len(across)), stretch=(0.5, 1.4), falloff=noise.ROUGH)
    columns = noise.cloth(easel.rng, strata.shape, stretch=(2.4, 0.5), falloff=noise.ROUGH)
    table = ramp([easel.shade(stone, lit, 0.2) for lit in (0.05, 0.5, 1.05)])
    with canvas.object("rock"):
        canvas.surface(
            table[((strata * 0.4 + columns * 0.6) * 255).astype(np.uint8)],
            float(down[0]) - 0.4,
            easel.under(crest, foot),
        )
    grass = [(float(x), float(y)) for x, y in zip(across, crest, strict=True) if x < end * 0.86]
    if len(grass) > 8:
        fringe = noise.profile(easel.rng, across, wavelength=24, gain=0.7) * 3.2 + 4.5
        lower = [(x, y + max(1.0, float(edge))) for (x, y), edge in zip(grass, fringe, strict=False)][::-1]
        with canvas.object("grass"):
            canvas.polygon(grass + lower, easel.shade(land.meadow_tones(easel)[1], 0.95, 0.12))


def _islet(easel: Easel) -> None:
    x, foot = easel.between(0.15, 0.85) * easel.width, easel.horizon + easel.between(7, 14)
    buildings.lighthouse(easel, x, foot - 3, easel.between(30, 46))
    for shift in (-9, 0, 9):
        land.rocks(easel, x + shift, foot, 9, easel.pick(land.STONES))


def _on_the_beach(easel: Easel, base: float) -> None:
    """Rocks, umbrellas, people and palms."""
    width = easel.width
    if easel.chance(0.4):
        for _ in range(easel.several(1, 3)):
            x = easel.between(0, 1) * width
            land.rocks(easel, x, easel.between(base - 6, HEIGHT - 4), easel.between(6, 16), easel.pick(land.STONES))
    if easel.chance(0.4):
        for _ in range(easel.several(1, 2)):
            animals.parasol(easel, easel.between(0.1, 0.9) * width, easel.between(max(base + 8, 160), 184))
    for _ in range(easel.several(0, 3) if easel.chance(0.5) else 0):
        wet = easel.light.weather == "rain"
        animals.person(easel, easel.between(0.08, 0.92) * width, easel.between(base + 4, 186), umbrella=wet)
    if easel.light.hour != "overcast" and easel.chance(0.25):
        palms = [plants.palm(easel)]
        for _ in range(easel.several(1, 2)):
            x = easel.between(0.02, 0.25) * width
            plants.plant(easel, palms, x, easel.between(178, 192), easel.between(4, 6), "palm")


def harbour(easel: Easel) -> None:
    """Boats at their moorings before a quay with cranes, containers or old houses."""
    easel.horizon, easel.eye = easel.between(78, 110), easel.between(5, 9)
    skies.sky(easel, room=0.7)
    width, industrial = easel.width, easel.chance(0.6)
    quay = easel.horizon + easel.between(5, 10)
    if easel.chance(0.45):
        land.hills(easel, land.meadow_tones(easel), layers=2, rise=easel.between(12, 26))
    if easel.chance(0.25):
        structures.suspension_bridge(easel, quay, easel.between(36, 52))
    with easel.canvas.object("sea"):
        land.water(easel, top=easel.horizon + 1, tone=easel.pick(land.WATERS), swell=0.55)
    wall = easel.shade((136, 128, 118), 0.6, 0.25)
    easel.canvas.box(0, quay - 5, width, quay + 1, wall)
    if industrial:
        _dock(easel, quay - 4)
    else:
        _waterfront(easel, quay - 4)
    if easel.chance(0.2):
        buildings.lighthouse(easel, width * (0.06 if easel.chance(0.5) else 0.94), quay, easel.between(38, 54))
    easel.canvas.mirror_below(quay + 1, min(HEIGHT, quay + 62), (0.6, 0.0), 3.4)
    if industrial and easel.chance(0.5):
        vehicles.ship(easel, easel.between(0.25, 0.75) * width, quay + easel.between(8, 16), easel.between(34, 56))
    if easel.chance(0.75):
        x, lean = easel.between(0.1, 0.9) * width, easel.between(-50, 50)
        structures.pier(easel, x, easel.between(quay + 8, quay + 26), 194, 3.2, lean)
    for foot in easel.feet(quay + 12, 178, easel.several(2, 5)):
        size = 10 + (foot - quay) * 0.34
        paint = vehicles.motor_boat if easel.chance(0.6) else vehicles.sailing_boat
        paint(easel, easel.between(0.05, 0.95) * width, foot, size)


def _dock(easel: Easel, foot: float) -> None:
    """Cranes and containers along the quay."""
    width = easel.width
    for _ in range(easel.several(1, 3)):
        structures.crane(easel, easel.between(0.05, 0.95) * width, foot, easel.between(46, 74))
    for _ in range(easel.several(1, 3)):
        columns, rows = easel.several(2, 5), easel.several(1, 4)
        structures.containers(easel, easel.between(0, 0.85) * width, foot + 1, easel.between(4, 6), columns, rows)
    if easel.chance(0.35):
        with easel.at_scale(foot + 1, 3.6):
            vehicles.vehicle_across(easel, "truck", easel.between(0.1, 0.9) * width, foot + 1)


def _waterfront(easel: Easel, foot: float) -> None:
    """A row of narrow houses along the quay with lamps before them, a church tower behind."""
    if easel.chance(0.5):
        with easel.at_scale(foot, 3.4):
            buildings.tower(easel, easel.between(0.2, 0.8) * easel.width, foot, 17, kind="church")
    x = -6.0
    while x < easel.width:
        wide = easel.between(16, 28)
        if easel.chance(0.88):
            buildings.facade(easel, x, x + wide, foot, easel.between(20, 38), depth=0.25)
        x += wide
    for _ in range(easel.several(0, 3)):
        with easel.at_scale(foot + 2, 4.2):
            structures.lamp(easel, easel.between(0.05, 0.95) * easel.width, foot + 2, 4.2)
