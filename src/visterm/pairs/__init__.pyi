from .installed import PREFIX as PREFIX
from .installed import Pair as Pair
from .installed import Trial as Trial
from .installed import add_pair as add_pair
from .installed import damaged_pairs as damaged_pairs
from .installed import installed_pairs as installed_pairs
from .installed import name_for as name_for
from .installed import pair_in_use as pair_in_use
from .installed import pair_named as pair_named
from .installed import remove_pair as remove_pair
from .parts import Parts as Parts
from .parts import opened_parts as opened_parts
from .tower import Tower as Tower

__all__ = [
    "PREFIX",
    "Pair",
    "Parts",
    "Tower",
    "Trial",
    "add_pair",
    "damaged_pairs",
    "installed_pairs",
    "name_for",
    "opened_parts",
    "pair_in_use",
    "pair_named",
    "remove_pair",
]
