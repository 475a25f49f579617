from .accents import lookup_forms as lookup_forms
from .accents import unaccented as unaccented
from .captions import CaptionTokenizer as CaptionTokenizer
from .captions import CaptionWords as CaptionWords
from .families import word_families as word_families
from .fillers import filler_words as filler_words
from .forms import base_form as base_form
from .forms import check_language as check_language
from .function_words import function_words_of as function_words_of
from .slips import is_foreign as is_foreign
from .slips import is_ordinary as is_ordinary
from .slips import nearest_name as nearest_name
from .stop_lists import stop_words as stop_words
from .text_encoder import MultilingualSentences as MultilingualSentences
from .text_encoder import TextEncoder as TextEncoder
from .text_encoder import text_encoder as text_encoder
from .vector_files import compile_vectors as compile_vectors
from .word_vectors import NEAR as NEAR
from .word_vectors import Near as Near
from .word_vectors import Thesaurus as Thesaurus
from .word_vectors import WordVectors as WordVectors
from .words import Speller as Speller
from .words import file_key as file_key
from .words import folded as folded
from .words import name_key as name_key
from .words import places_of_names as places_of_names
from .words import rows_by_word as rows_by_word
from .words import sure_of_slip as sure_of_slip
from .words import word_key as word_key

__all__ = [
    "NEAR",
    "CaptionTokenizer",
    "CaptionWords",
    "MultilingualSentences",
    "Near",
    "Speller",
    "TextEncoder",
    "Thesaurus",
    "WordVectors",
    "base_form",
    "check_language",
    "compile_vectors",
    "file_key",
    "filler_words",
    "folded",
    "function_words_of",
    "is_foreign",
    "is_ordinary",
    "lookup_forms",
    "name_key",
    "nearest_name",
    "places_of_names",
    "rows_by_word",
    "stop_words",
    "sure_of_slip",
    "text_encoder",
    "unaccented",
    "word_families",
    "word_key",
]
