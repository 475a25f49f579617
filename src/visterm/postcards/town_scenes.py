"""Scenes of towns and roads: highway, street and village, each painted from back to front."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from visterm.postcards import animals, buildings, land, plants, skies, structures, vehicles
from visterm.postcards.canvas import HEIGHT
from visterm.postcards.easel import Easel
from visterm.postcards.light import Tone, mix

ASPHALT: tuple[Tone, ...] = ((92, 94, 100), (110, 108, 108), (128, 122, 116), (78, 82, 92))
DRY_GROUND: list[Tone] = [(176, 140, 100), (204, 168, 124), (226, 196, 150)]
PAVING: tuple[Tone, ...] = ((176, 170, 160), (160, 150, 140), (190, 178, 158))


def highway(easel: Easel) -> None:
    """A broad road through the land, with traffic both ways."""
    easel.horizon, easel.eye = easel.between(70, 112), easel.between(4.5, 8)
    width = easel.width
    skies.sky(easel, room=0.8)
    _beside_a_highway(easel)
    vanishing, bend = width * easel.between(0.25, 0.75), easel.between(-26, 26)

    def lane(metres: float) -> Callable[[float], float]:
        def centre(y: float) -> float:
            near = max(0.0, (y - easel.horizon) / (HEIGHT - easel.horizon))
            return (
                vanishing
                + metres * easel.metre(y)
                + bend * float(np.sin(near * np.pi)) * (1 - near)
                + (width / 2 - vanishing) * near * 0.35
            )

        return centre

    far = easel.horizon + 1.2
    lanes = easel.several(2, 3)
    half, median = lanes * 3.6 + 1.2, 1.5
    tone = easel.pick(ASPHALT)
    for side in (-1, 1):
        land.way(easel, lane(side * (median + half / 2)), half, tone, "road", far=far)
        for edge in (median + 0.5, median + half - 0.5):
            easel.canvas.polygon(easel.ribbon(lane(side * edge), 0.22, far=far), easel.shade((236, 232, 220), 0.95))
        for line in range(1, lanes):
            _dashes(easel, lane(side * (median + 0.6 + line * 3.6)), 0.2)
    if easel.chance(0.6):
        _guard_rail(easel, lane(0))
    if easel.chance(0.35):
        structures.overpass(easel, easel.horizon + easel.between(9, 20), 6.5)
    _along_a_highway(easel, lane, lanes, median, half)


def _beside_a_highway(easel: Easel) -> None:
    """Mountains, hills or a town, and the ground."""
    width = easel.width
    dry = easel.chance(0.3)
    ground = DRY_GROUND if dry else land.meadow_tones(easel)
    if easel.chance(0.3):
        land.peaks(
            easel, rise=easel.between(26, 44), snow=easel.between(0, 0.5), stone=(116, 114, 122), depth=0.85, count=4
        )
    if easel.chance(0.3):
        for _ in range(easel.several(5, 10)):
            foot = easel.horizon + 2.5
            buildings.tower(
                easel, easel.between(0.1, 0.9) * width, foot, easel.between(26, 66) * easel.eye / 5, kind="office"
            )
    else:
        land.hills(easel, ground, layers=easel.several(1, 3), rise=easel.between(8, 26))
    if dry:
        easel.ground(ground)
    else:
        with easel.canvas.object("grass"):
            easel.ground(ground)


def _along_a_highway(
    easel: Easel, lane: Callable[[float], Callable[[float], float]], lanes: int, median: float, half: float
) -> None:
    """Trees, vehicles, lamps and a sign, the far ones first; ``half`` is the width of one side of the road."""
    sprites = [plants.leafy(easel), plants.leafy(easel)] if easel.chance(0.6) else [plants.conifer(easel)]
    name = "tree" if len(sprites) == 2 else "pine"
    things = [(foot, "plant", 0.0) for foot in easel.feet(easel.horizon + 4, 176, easel.several(3, 9))]
    for _ in range(easel.several(4, 9)):
        foot = easel.horizon + (HEIGHT - 8 - easel.horizon) * float(easel.rng.random()) ** 1.5 + 5
        place = int(easel.rng.integers(lanes)) * 3.6 + median + 2.4
        things.append((foot, "vehicle", place if easel.chance(0.5) else -place))
    if easel.chance(0.45):
        things += [(easel.foot(metre), "lamp", 0.0) for metre in (1.2, 2.2, 4.0, 7.0, 11.0)]
    for foot, kind, metres in sorted(things):
        if kind == "vehicle":
            body = str(easel.rng.choice(["car", "truck", "bus"], p=[0.62, 0.26, 0.12]))
            vehicles.vehicle_along(easel, body, lane(metres)(foot), foot, oncoming=metres < 0)
        elif kind == "lamp":
            structures.lamp(easel, lane(0)(foot), foot, 9, arm=2.2)
        else:
            side = easel.side()
            x = lane(side * (half + median + 3))(foot) + side * easel.between(0, 60)
            plants.plant(easel, sprites, x, foot, easel.between(5, 9), name)
    if easel.chance(0.35):
        foot = easel.horizon + easel.between(18, 30)
        structures.sign(easel, lane(half + median + 2)(foot), foot)


def _dashes(easel: Easel, centre: Callable[[float], float], metres: float) -> None:
    """The broken line along ``centre``; it shortens into the distance."""
    away = 1.0
    while away < 14:
        near = easel.horizon + (HEIGHT + 10 - easel.horizon) / away
        far = easel.horizon + (HEIGHT + 10 - easel.horizon) / (away + 0.24)
        outline = [
            (centre(y) + side * metres * easel.metre(y) / 2, y)
            for y, side in ((near, -1), (near, 1), (far, 1), (far, -1))
        ]
        easel.canvas.polygon(outline, easel.shade((238, 234, 220), 0.95, easel.depth(far)))
        away += 0.62


def _guard_rail(easel: Easel, centre: Callable[[float], float]) -> None:
    """The crash barrier along ``centre``."""
    canvas = easel.canvas
    steps = [easel.horizon + 3 + (HEIGHT - easel.horizon) * (step / 16) ** 1.7 for step in range(17)]
    with canvas.object("fence"):
        for y in steps:
            canvas.line(
                [(centre(y), y), (centre(y), y - 0.8 * easel.metre(y))],
                easel.shade((110, 112, 116), 0.5, easel.depth(y)),
                max(0.5, 0.12 * easel.metre(y)),
            )
        rail = [(centre(y), y - 0.85 * easel.metre(y)) for y in steps] + [
            (centre(y), y - 0.5 * easel.metre(y)) for y in reversed(steps)
        ]
        canvas.polygon(rail, easel.shade((186, 188, 190), 0.85, 0.1))


def street(easel: Easel) -> None:
    """A street of town houses, seen along it or across it."""
    if easel.chance(0.62):
        _street_along(easel)
    else:
        _street_across(easel)


def _street_along(easel: Easel) -> None:
    easel.horizon, easel.eye = easel.between(92, 122), easel.between(1.9, 3.2)
    width = easel.width
    skies.sky(easel, room=0.45)
    vanishing = width * easel.between(0.34, 0.66)
    if easel.chance(0.35):
        buildings.tower(
            easel,
            vanishing + easel.between(-8, 8),
            easel.horizon + 3,
            easel.between(40, 64),
            kind=("church", "office")[int(easel.rng.integers(2))],
        )
    easel.ground([mix(easel.pick(PAVING), (90, 90, 90), 0.2), easel.pick(PAVING)], grain=40)
    road = easel.between(3.2, 4.6)

    def lane(metres: float) -> Callable[[float], float]:
        return lambda y: vanishing + metres * easel.metre(y)

    land.way(easel, lane(0), road * 2, easel.pick(ASPHALT), "road", far=easel.horizon + 1)
    _dashes(easel, lane(0), 0.16)
    walls = (road + 2.2, road + 2.6)
    for side, wall in zip((-1, 1), walls, strict=True):
        _row_of_houses(easel, vanishing, side * wall)
    things = [(easel.between(6, 34), "vehicle", easel.side() * road * 0.5) for _ in range(easel.several(2, 5))]
    things += [
        (easel.between(4.5, 14), "person", easel.side() * (road + easel.between(0.7, 1.8)))
        for _ in range(easel.several(0, 5))
    ]
    if easel.chance(0.7):
        side = easel.side()
        things += [(away, "lamp", side * (road + 0.5)) for away in (7.0, 13.0, 21.0, 34.0)]
    sprites = [plants.leafy(easel)]
    if easel.chance(0.55):
        side = easel.side()
        things += [(away, "tree", side * (road + 0.9)) for away in (8.0, 12.5, 18.0, 27.0, 40.0)]
    focal = (HEIGHT - easel.horizon) * 1.6
    for away, kind, metres in sorted(things, reverse=True):
        foot = easel.horizon + focal * easel.eye / away * 0.72
        if foot > HEIGHT + 12:
            continue
        x = vanishing + metres * easel.metre(foot)
        if kind == "vehicle":
            body = str(easel.rng.choice(["car", "truck", "bus"], p=[0.7, 0.12, 0.18]))
            vehicles.vehicle_along(easel, body, x, foot, oncoming=metres < 0)
        elif kind == "person":
            wet = easel.light.weather == "rain"
            animals.person(easel, x, foot, umbrella=wet and easel.chance(0.85))
        elif kind == "lamp":
            structures.lamp(easel, x, foot, 4.6)
        else:
            plants.plant(easel, sprites, x, foot, 5.2, "tree")


def _row_of_houses(easel: Easel, vanishing: float, wall: float) -> None:
    """Facades along one side, far to near, on the plane ``wall`` metres beside the vanishing line."""
    canvas, eye, side = easel.canvas, easel.eye, (-1 if wall < 0 else 1)
    focal = 150.0

    def project(away: float, rise: float) -> tuple[float, float]:
        return vanishing + wall * focal / away, easel.horizon + (eye - rise) * focal / away

    stations = [3.0]
    while stations[-1] < 120:
        stations.append(stations[-1] + easel.between(6, 11))
    for near, far in zip(stations[-2::-1], stations[:0:-1], strict=True):
        tall, tone = easel.between(8, 15), easel.pick(buildings.WALLS)
        depth = min(1.0, near / 110)
        lit = 1.0 if side > 0 else 0.45
        with canvas.object("house"):
            canvas.polygon(
                [project(near, 0), project(near, tall), project(far, tall), project(far, 0)],
                easel.shade(tone, lit, depth),
            )
            eaves = [project(near, tall), project(near, tall + 0.7), project(far, tall + 0.7), project(far, tall)]
            canvas.polygon(eaves, easel.shade(easel.pick(buildings.ROOFS), lit * 0.8, depth))
            if near > 80:
                continue
            storeys, bays = int(tall / 3), max(2, int((far - near) / 2.6))
            with canvas.object("window"):
                for storey in range(storeys):
                    for bay in range(bays):
                        start = near + (far - near) * (bay + 0.25) / bays
                        stop = start + (far - near) * 0.48 / bays
                        low = 1.0 + storey * 3.0 if storey else 0.9
                        pane = [
                            project(start, low),
                            project(start, low + 1.6),
                            project(stop, low + 1.6),
                            project(stop, low),
                        ]
                        canvas.polygon(pane, buildings.pane(easel, depth))
            if easel.chance(0.35) and near < 40:  # an awning over a shop
                out = wall - side * 1.2
                front = [
                    (vanishing + out * focal / away, easel.horizon + (eye - 2.3) * focal / away)
                    for away in (near + 1, far - 1)
                ]
                canvas.polygon(
                    [project(near + 1, 3.0), project(far - 1, 3.0), front[1], front[0]],
                    easel.shade(easel.pick(animals.COATS), 0.9, depth),
                )


def _street_across(easel: Easel) -> None:
    easel.horizon, easel.eye = easel.between(104, 124), easel.between(2.0, 2.8)
    width = easel.width
    skies.sky(easel, room=0.3)
    kerb = easel.horizon + easel.between(24, 32)
    if easel.chance(0.4):
        for _ in range(easel.several(1, 3)):
            buildings.tower(easel, easel.between(0, 1) * width, easel.horizon + 4, easel.between(60, 84), kind="office")
    x = easel.between(-20, 0)
    while x < width:
        wide = easel.between(34, 62)
        buildings.facade(easel, x, x + wide, kerb, easel.between(62, 108), depth=0.1)
        x += wide
    easel.canvas.box(0, kerb, width, kerb + 9, easel.shade(easel.pick(PAVING), 0.9))
    with easel.canvas.object("road"):
        easel.ground([mix(easel.pick(ASPHALT), (60, 60, 60), 0.2), easel.pick(ASPHALT)], top=kerb + 9)
    middle = (kerb + 9 + HEIGHT) / 2
    for dash in range(8):
        easel.canvas.box(dash * 40 - 10, middle, dash * 40 + 10, middle + 1.6, easel.shade((236, 232, 220), 0.95))
    sprites = [plants.leafy(easel)]
    if easel.chance(0.5):
        for place in range(easel.several(2, 4)):
            plants.plant(easel, sprites, (place + easel.between(0.2, 0.8)) * width / 4, kerb + 6, 4.6, "tree")
    if easel.chance(0.6):
        for place in range(3):
            structures.lamp(easel, (place + 0.5) * width / 3 + easel.between(-20, 20), kerb + 8, 4.4)
    for _ in range(easel.several(1, 5)):
        animals.person(
            easel, easel.between(0.03, 0.97) * width, kerb + easel.between(4, 8), umbrella=easel.light.weather == "rain"
        )
    for share in (0.12, 0.5):
        if easel.chance(0.75):
            foot = kerb + 9 + (HEIGHT - kerb - 9) * share
            kind = str(easel.rng.choice(["car", "truck", "bus"], p=[0.6, 0.16, 0.24] if share < 0.3 else [1, 0, 0]))
            vehicles.vehicle_across(easel, kind, easel.between(0.15, 0.85) * width, foot)


def village(easel: Easel) -> None:
    """Houses gathered around a church on a green slope."""
    easel.horizon, easel.eye = easel.between(58, 92), easel.between(9, 14)
    width = easel.width
    skies.sky(easel, room=0.8)
    meadow = land.meadow_tones(easel)
    if easel.chance(0.3):
        land.peaks(
            easel, rise=easel.between(24, 44), snow=easel.between(0, 0.6), stone=(122, 118, 122), depth=0.85, count=4
        )
    land.hills(easel, meadow, layers=easel.several(1, 3), rise=easel.between(10, 28))
    with easel.canvas.object("grass"):
        easel.ground(meadow)
    sprites = [plants.leafy(easel), plants.leafy(easel)]
    shrubs = [plants.shrub(easel)]
    plants.thicket(easel, sprites, easel.horizon + 5, 7, "tree", spacing=easel.between(9, 20), depth=0.6)
    centre = easel.winding(width * easel.between(0.35, 0.65), easel.between(14, 34))
    way = str(easel.rng.choice(["river", "path", "road"], p=[0.3, 0.4, 0.3]))
    if way == "river":
        land.river(easel, centre, 6, far=easel.horizon + 6)
        if easel.chance(0.75):
            y = easel.between(134, 156)
            structures.arch_bridge(easel, centre(y), y, 15 * easel.metre(y), 3.0)
    else:
        tone = easel.pick(((198, 176, 140), (176, 150, 118))) if way == "path" else easel.pick(ASPHALT)
        land.way(easel, centre, 4.2, tone, way, far=easel.horizon + 6)
    church = easel.horizon + easel.between(14, 40)
    things: list[tuple[float, str]] = [(church, "tower")] if easel.chance(0.75) else []
    things += [(foot, "house") for foot in easel.feet(easel.horizon + 10, 172, easel.several(9, 16))]
    things += [(foot, "tree") for foot in easel.feet(easel.horizon + 10, 184, easel.several(3, 8))]
    things += [(foot, "bush") for foot in easel.feet(easel.horizon + 30, 190, easel.several(0, 4))]
    for foot, kind in sorted(things):
        side = easel.side()
        x = centre(foot) + side * (5.5 * easel.metre(foot) + abs(float(easel.rng.normal(0, 46))))
        if kind == "tower":
            buildings.tower(easel, easel.between(0.25, 0.75) * width, foot, easel.between(20, 26), kind="church")
        elif kind == "house":
            buildings.house(easel, x, foot, easel.between(5.5, 7.5))
        elif kind == "tree":
            plants.plant(easel, sprites, x, foot, easel.between(4.5, 7.5), "tree")
        else:
            plants.plant(easel, shrubs, x, foot, easel.between(1.0, 1.6), "bush")
    if easel.chance(0.4):
        structures.fence(easel, easel.between(170, 188), easel.between(-20, 80), easel.between(0.5, 1.1) * width)
    for _ in range(easel.several(1, 3) if easel.chance(0.45) else 0):
        foot = easel.between(140, 186)
        aside = 6 * easel.metre(foot) if way == "river" else 0.0
        animals.person(
            easel, centre(foot) + aside + easel.between(-10, 14), foot, umbrella=easel.light.weather == "rain"
        )
    if easel.chance(0.25):
        plants.flowers(easel, top=172, count=90)
    if way == "road" and easel.chance(0.6):
        foot = easel.between(130, 178)
        vehicles.vehicle_along(easel, "car", centre(foot), foot, oncoming=easel.chance(0.5))
