"""Scenes of nature: desert, forest, mountain, open country and winter, each painted from back to front."""

from __future__ import annotations

from collections.abc import Callable

from visterm.postcards import animals, buildings, land, plants, skies, structures, vehicles
from visterm.postcards.easel import Easel
from visterm.postcards.light import Tone, mix

SNOW_GROUND: list[Tone] = [(176, 190, 214), (220, 228, 240), (246, 248, 252)]
NEEDLE_FLOOR: list[Tone] = [(78, 64, 46), (112, 92, 62), (146, 122, 82)]
CROPS: dict[str, tuple[Tone, ...]] = {
    "spring": ((120, 160, 74), (226, 202, 70), (96, 138, 66), (150, 120, 84), (156, 180, 100)),
    "summer": ((216, 184, 98), (134, 146, 74), (150, 116, 170), (98, 124, 60), (226, 200, 120)),
    "autumn": ((136, 98, 66), (176, 138, 82), (150, 140, 84), (116, 84, 62), (200, 160, 92)),
}


def desert(easel: Easel) -> None:
    """Dunes or a stony plain with cacti and table mountains."""
    easel.horizon, easel.eye = easel.between(72, 104), easel.between(2.6, 4)
    skies.sky(easel)
    width, sand = (
        easel.width,
        easel.pick(((226, 178, 118), (212, 148, 96), (236, 214, 176), (190, 120, 84), (222, 200, 150))),
    )
    if easel.chance(0.5):
        if easel.chance(0.5):
            _mesas(easel, mix(sand, (150, 80, 56), 0.5))
        land.dunes(easel, sand, layers=easel.several(3, 5))
        if easel.chance(0.65):
            side = easel.side()
            start, foot = easel.between(0.2, 0.5) * width, easel.between(132, 164)
            for place in range(easel.several(1, 3)):
                animals.camel(easel, start + place * 5.0 * easel.metre(foot), foot + place % 2 * 2, side)
        if easel.chance(0.4):
            palms = [plants.palm(easel), plants.palm(easel)]
            middle, foot = easel.between(0.2, 0.8) * width, easel.between(140, 176)
            for _ in range(easel.several(2, 4)):
                plants.plant(
                    easel,
                    palms,
                    middle + easel.between(-30, 30),
                    foot + easel.between(-5, 5),
                    easel.between(4, 6.5),
                    "palm",
                )
    else:
        _mesas(easel, mix(sand, (160, 84, 60), 0.6))
        easel.ground([mix(sand, (120, 84, 60), 0.45), sand, mix(sand, (250, 236, 210), 0.3)])
        if easel.chance(0.35):
            centre = easel.winding(width * easel.between(0.3, 0.7), easel.between(4, 18))
            land.way(easel, centre, 4.5, mix(sand, (120, 100, 84), 0.4), "path", far=easel.horizon + 2)
        shrubs = [plants.shrub(easel, (136, 140, 92))]
        for foot in easel.feet(easel.horizon + 10, 186, easel.several(4, 8)):
            x = easel.between(0.02, 0.98) * width
            if easel.chance(0.6):
                plants.cactus(easel, x, foot, easel.between(1.6, 3.2))
            elif easel.chance(0.5):
                plants.plant(easel, shrubs, x, foot, easel.between(0.5, 0.9), "bush")
            else:
                land.rocks(easel, x, foot, 0.7 * easel.metre(foot), mix(sand, (130, 90, 70), 0.5))
    if easel.chance(0.25):
        animals.person(easel, easel.between(0.2, 0.8) * width, easel.between(140, 180))


def _mesas(easel: Easel, stone: Tone) -> None:
    """Flat-topped rock towers on the horizon, in layers of colour."""
    for _ in range(easel.several(1, 3)):
        x, wide, tall = easel.between(0.05, 0.95) * easel.width, easel.between(16, 48), easel.between(16, 44)
        foot, depth = easel.horizon + 3, easel.between(0.4, 0.75)
        with easel.canvas.object("rock"):
            for band in range(6):
                low, high = band / 6, (band + 1) / 6
                spread = [wide / 2 * (1.35 - 0.6 * min(1.0, share * 1.6) + 0.06 * (band % 2)) for share in (low, high)]
                y = [foot - tall * share for share in (low, high)]
                tone = mix(stone, (240, 200, 160), 0.25 * (band % 2))
                for start, stop, lit in ((-1.0, 0.3, 0.95), (0.3, 1.0, 0.25)):
                    easel.canvas.polygon(
                        [(x + start * spread[0], y[0]), (x + start * spread[1], y[1]),
                         (x + stop * spread[1], y[1]), (x + stop * spread[0], y[0])],
                        easel.shade(tone, lit, depth),
                    )  # fmt: skip


def forest(easel: Easel) -> None:
    """Among the trees: trunks behind trunks, a canopy, undergrowth, perhaps a path or a brook."""
    easel.horizon, easel.eye = easel.between(84, 118), easel.between(1.8, 3.0)
    pines = easel.chance(0.4)
    skies.sky(easel, room=0.5)
    leaf = easel.pick(plants.FOLIAGE[easel.season])
    sprites = [plants.conifer(easel) for _ in range(2)] if pines else [plants.leafy(easel, leaf), plants.leafy(easel)]
    name, width = ("pine" if pines else "tree"), easel.width
    for line, metres, depth in ((2.0, 46.0, 0.95), (4.5, 27.0, 0.75)):
        plants.thicket(easel, sprites, easel.horizon + line, metres, name, spacing=6, depth=depth)
    if pines:
        easel.ground(NEEDLE_FLOOR, top=easel.horizon + 3, lit=0.75)
    else:
        with easel.canvas.object("grass"):
            easel.ground(land.meadow_tones(easel), top=easel.horizon + 3, lit=0.75)
    for line, metres, depth in ((8.0, 17.0, 0.55), (13.0, 13.0, 0.35)):
        plants.thicket(easel, sprites, easel.horizon + line, metres, name, spacing=4, depth=depth)
    if easel.chance(0.3):
        plants.flowers(easel, top=easel.horizon + 24, count=90)
    centre = easel.winding(width * easel.between(0.35, 0.65), easel.between(6, 26))
    if easel.chance(0.5):
        land.way(easel, centre, easel.between(1.6, 2.6), (176, 148, 110), "path", far=easel.horizon + 12)
    elif easel.chance(0.45):
        land.river(easel, centre, easel.between(2.0, 3.5), far=easel.horizon + 12)
        if easel.chance(0.4):
            y = easel.horizon + easel.between(22, 34)
            structures.arch_bridge(easel, centre(y), y + 3, 3.5 * 2.4 * easel.metre(y), 1.6)
    shrubs = [plants.shrub(easel, (70, 100, 54) if pines else None)]
    for foot in easel.feet(easel.horizon + 14, 186, 9):
        x = _beside(easel, centre, foot, 1.6)
        kind = easel.rng.random()
        if kind < 0.5:
            plants.plant(easel, sprites, x, foot, easel.between(6, 9), name)
        elif kind < 0.75:
            plants.plant(easel, shrubs, x, foot, easel.between(0.7, 1.4), "bush")
        elif kind < 0.9:
            land.rocks(easel, x, foot, 0.5 * easel.metre(foot), easel.pick(land.STONES))
    if easel.chance(0.3):
        foot = easel.horizon + easel.between(20, 44)
        animals.person(easel, centre(foot), foot, umbrella=easel.light.weather == "rain")
    _trunks(easel, centre, name)
    if easel.light.weather == "fog" or easel.chance(0.25):
        skies.mist(easel, easel.horizon + 4, 26, 0.5)


def _beside(easel: Easel, centre: Callable[[float], float], foot: float, metres: float, spread: float = 110.0) -> float:
    """An x beside the way along ``centre``."""
    side = easel.side()
    return centre(foot) + side * (metres * easel.metre(foot) + easel.between(6, spread))


def _trunks(easel: Easel, centre: Callable[[float], float], name: str) -> None:
    """A few great trunks close by, leaving the picture at the top."""
    canvas = easel.canvas
    bark = easel.pick(((96, 76, 58), (120, 104, 88), (84, 66, 58), (206, 200, 190)))
    for foot in easel.feet(easel.horizon + 26, 196, easel.several(2, 5)):
        x, depth = _beside(easel, centre, foot, 1.9), easel.depth(foot)
        half = max(2.2, easel.between(0.18, 0.34) * easel.metre(foot))
        crown, flare = x + easel.between(-5, 5), foot - half * 2
        with canvas.object(name):
            for strip, lit in enumerate((0.75, 1.0, 0.8, 0.55, 0.35, 0.15)):
                start, stop = half * (strip / 3 - 1), half * ((strip + 1) / 3 - 1)
                left = [(x + start * 1.5, foot), (x + start, flare), (crown + start * 0.8, -4.0)]
                right = [(crown + stop * 0.8, -4.0), (x + stop, flare), (x + stop * 1.5, foot)]
                canvas.polygon(left + right, easel.shade(bark, lit, depth))
        for _ in range(int(half * 2)):
            at, y = x + easel.between(-0.8, 0.8) * half, easel.between(0, foot)
            crease = [(at, y), (at + easel.between(-1, 1), y + easel.between(3, 9))]
            canvas.touch(crease, easel.shade(bark, 0.1, depth), 0.5)


def mountain(easel: Easel) -> None:
    """High peaks over a valley: alps with a lake, pines, cattle, a chalet."""
    easel.horizon, easel.eye = easel.between(104, 142), easel.between(4, 9)
    skies.sky(easel, room=0.5)
    width = easel.width
    stone = easel.pick(((120, 116, 122), (136, 118, 104), (100, 108, 124), (150, 128, 112)))
    snow = easel.between(0.25, 0.75) if easel.chance(0.8) else 0.0
    if easel.chance(0.6):
        land.peaks(easel, rise=easel.between(60, 90), snow=snow, stone=stone, depth=0.75, count=4)
    land.peaks(
        easel,
        rise=easel.between(66, 104),
        snow=snow,
        stone=stone,
        depth=0.28,
        count=easel.several(1, 3),
        wooded=True,
    )
    if easel.light.weather == "fog" or easel.chance(0.35):
        skies.mist(easel, easel.horizon - 12, 9, 0.75)
    pines = [plants.conifer(easel) for _ in range(3)]
    meadow = land.meadow_tones(easel)
    plants.thicket(easel, pines, easel.horizon + 1.5, 22, "pine", spacing=easel.between(5, 12), depth=0.55)
    with easel.canvas.object("grass"):
        easel.ground(meadow)
    far, dry = easel.horizon + easel.between(3, 8), easel.horizon + 14
    centre = easel.winding(width * easel.between(0.3, 0.7), 28)
    if easel.chance(0.45):
        left, right = easel.between(-0.3, 0.25) * width, easel.between(0.75, 1.3) * width
        near = easel.between(156, 172)
        dry = near - 4
        land.lake(easel, far=far, near=near, left=left, right=right)
        if easel.chance(0.3):
            vehicles.motor_boat(easel, width * easel.between(0.3, 0.7), (far + near) / 2, 12)
    elif easel.chance(0.5):
        land.river(easel, centre, 9, far=far)
    elif easel.chance(0.6):
        land.way(easel, centre, 3, (190, 166, 128), "path", far=far)
    if easel.chance(0.15):
        foot = easel.horizon + 6
        buildings.tower(easel, _beside(easel, centre, foot, 9), foot, 22, kind="keep")
    if easel.chance(0.32):
        foot = max(dry, easel.horizon + 24)
        buildings.house(easel, _beside(easel, centre, foot, 9, 60), foot, 5.5)
    for foot in easel.feet(dry, 192, easel.several(3, 8)):
        edge = abs(float(easel.rng.normal(0, 0.2)))
        x = (edge if easel.chance(0.5) else 1 - edge) * width
        if easel.chance(0.65):
            plants.plant(easel, pines, x, foot, easel.between(7, 13), "pine")
        elif easel.chance(0.6):
            land.rocks(easel, x, foot, 1.2 * easel.metre(foot), stone)
    _grazing(easel, 0.42, centre, max(dry + 3, easel.horizon + 22))
    if easel.chance(0.25):
        plants.flowers(easel, top=174, count=110)
    if easel.chance(0.25):
        animals.person(easel, easel.between(0.2, 0.8) * width, easel.between(168, 186))


def _grazing(easel: Easel, probability: float, centre: Callable[[float], float], top: float) -> None:
    """A few sheep or cows below y = ``top``, beside the way along ``centre``."""
    if not easel.chance(probability):
        return
    animal = animals.sheep if easel.chance(0.5) else animals.cow
    for foot in easel.feet(top, 184, easel.several(2, 5)):
        animal(easel, _beside(easel, centre, foot, 5, 70), foot)


def open_country(easel: Easel) -> None:
    """Fields and meadows under a wide sky."""
    easel.horizon, easel.eye = easel.between(70, 112), easel.between(3.5, 7)
    skies.sky(easel, room=0.85)
    width, meadow = easel.width, land.meadow_tones(easel)
    land.hills(easel, meadow, layers=easel.several(1, 3), rise=easel.between(10, 30))
    with easel.canvas.object("grass"):
        easel.ground(meadow)
    if easel.chance(0.72):
        land.fields(easel, crops=CROPS[easel.season])
    sprites = [plants.leafy(easel), plants.leafy(easel), plants.shrub(easel)]
    centre = easel.winding(width * easel.between(0.2, 0.8), easel.between(10, 40))
    far = easel.horizon + easel.between(3, 8)
    if easel.chance(0.28):
        land.river(easel, centre, easel.between(4, 8), far=far)
        if easel.chance(0.5):
            y = easel.horizon + easel.between(16, 28)
            structures.arch_bridge(easel, centre(y), y + 3, 7 * 2.2 * easel.metre(y), 3.2)
    elif easel.chance(0.6):
        land.way(easel, centre, easel.between(2, 3.5), easel.pick(((196, 170, 130), (160, 130, 100))), "path", far=far)
    plants.thicket(easel, sprites[:2], easel.horizon + 4, 5.5, "tree", spacing=easel.between(7, 26), depth=0.7)
    if easel.chance(0.3):
        buildings.windmill(
            easel, easel.between(0.15, 0.85) * width, easel.horizon + easel.between(12, 30), easel.between(10, 14)
        )
    elif easel.chance(0.35):
        buildings.house(easel, easel.between(0.1, 0.9) * width, easel.horizon + easel.between(10, 30), 6)
    elif easel.chance(0.2):
        buildings.tower(easel, easel.between(0.1, 0.9) * width, easel.horizon + easel.between(8, 16), 16, kind="keep")
    for foot in easel.feet(easel.horizon + 8, 182, easel.several(1, 5)):
        x = _beside(easel, centre, foot, 4.5, 130)
        if easel.chance(0.6):
            plants.plant(easel, sprites[:2], x, foot, easel.between(4.5, 8), "tree")
        else:
            plants.plant(easel, sprites[2:], x, foot, easel.between(1.0, 1.8), "bush")
    if easel.chance(0.4):
        y = easel.between(150, 180)
        structures.fence(easel, y, easel.between(-20, 60), easel.between(0.6, 1.1) * width)
    _grazing(easel, 0.5, centre, 142)
    if easel.chance(0.4):
        plants.flowers(easel, top=easel.between(150, 172))
    elif easel.chance(0.5):
        with easel.canvas.object("grass"):
            plants.tufts(easel, meadow, top=174)


def winter(easel: Easel) -> None:
    """A snow-covered land: laden pines, bare trees, a frozen lake, a snowman."""
    easel.horizon, easel.eye = easel.between(76, 116), easel.between(2.8, 5.5)
    skies.sky(easel, room=0.8)
    width = easel.width
    with easel.canvas.object("snow"):
        land.hills(
            easel,
            [(150, 164, 184), (204, 214, 228), (238, 242, 248)],
            layers=easel.several(1, 3),
            rise=easel.between(8, 26),
        )
    pines = [plants.conifer(easel, snowy=True) for _ in range(2)]
    trees = [plants.bare(easel)]
    plants.thicket(easel, pines, easel.horizon + 3, 9, "pine", spacing=easel.between(3, 9), depth=0.6)
    with easel.canvas.object("snow"):
        easel.ground(SNOW_GROUND, grain=30, along=5000)
    frozen_lake = easel.chance(0.3)
    if frozen_lake:
        far, near = easel.horizon + easel.between(6, 12), easel.between(146, 166)
        left, right = easel.between(-0.1, 0.3) * width, easel.between(0.7, 1.1) * width
        land.lake(easel, far=far, near=near, left=left, right=right, frozen=True)
    elif easel.chance(0.55):
        land.way(
            easel, easel.winding(width * easel.between(0.3, 0.7), 24), 3, (186, 184, 186), "path", far=easel.horizon + 6
        )
    if not frozen_lake and easel.chance(0.6):
        for foot in easel.feet(easel.horizon + 14, 152, easel.several(1, 2)):
            buildings.house(easel, easel.between(0.1, 0.9) * width, foot, 4.5, snowy=True)
    for foot in easel.feet(easel.horizon + 10, 188, easel.several(4, 8)):
        edge = abs(float(easel.rng.normal(0, 0.24)))
        x, kind = (edge if easel.chance(0.5) else 1 - edge) * width, easel.rng.random()
        if kind < 0.5:
            plants.plant(easel, pines, x, foot, easel.between(4.5, 8), "pine")
        elif kind < 0.8:
            plants.plant(easel, trees, x, foot, easel.between(4.5, 7.5), "tree")
        else:
            land.rocks(easel, x, foot, 0.8 * easel.metre(foot), easel.pick(land.STONES), snowy=True)
    if easel.chance(0.4):
        structures.fence(easel, easel.between(148, 180), easel.between(-20, 70), easel.between(0.6, 1.1) * width)
    if easel.chance(0.15):
        structures.lamp(easel, easel.between(0.2, 0.8) * width, easel.between(152, 176), 4)
    if easel.chance(0.45):
        animals.snowman(easel, easel.between(0.15, 0.85) * width, easel.between(158, 184))
    for _ in range(easel.several(1, 3) if easel.chance(0.35) else 0):
        animals.person(easel, easel.between(0.1, 0.9) * width, easel.between(150, 186))
    if easel.chance(0.5):
        skies.snowfall(easel)
