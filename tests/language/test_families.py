from __future__ import annotations

import pytest

from visterm.language import word_families


@pytest.mark.parametrize(
    ("names", "families"),
    [
        ({"climb": 2, "climbs": 1, "climbing": 5, "climbed": 1}, [["climbing", "climb", "climbs", "climbed"]]),
        ({"ride": 1, "riding": 1, "rode": 1}, [["ride", "rode", "riding"]]),
        ({"kid": 3, "kids": 4}, [["kids", "kid"]]),
        ({"beach": 3, "Beach": 3, "beaches": 1}, [["Beach", "beach", "beaches"]]),
        ({"sun set": 1, "sunset": 3, "sun-set": 1}, [["sunset", "sun set", "sun-set"]]),
        (
            {"tall building": 2, "tall buildings": 1, "Tall Building": 1},
            [["tall building", "Tall Building", "tall buildings"]],
        ),
        ({"Swims": 1, "swim ming": 1, "swimming": 3}, [["swimming", "Swims", "swim ming"]]),  # one links the others
        # other things, though they look alike
        ({"boat": 1, "boating": 1, "build": 1, "building": 1, "fish": 1, "fishing": 1}, []),
        ({"bus": 1, "bush": 1, "glass": 1, "grass": 1, "king": 1, "string": 1, "!": 1, "?": 1}, []),
        ({"b": 2, "a": 2, "cats": 1, "dogs": 9, "cat": 1, "dog": 9}, [["dog", "dogs"], ["cat", "cats"]]),
    ],
)
def test_forms_of_one_word(names, families):
    assert word_families(names) == families


def test_other_languages_fold_by_their_dictionary():
    assert word_families({"haus": 2, "häuser": 1, "baum": 1}, "de") == [["haus", "häuser"]]
