"""Routes: words suggested for pictures without labels, and questions about a new word."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from visterm.faces.web.answering import Photos, Without, expensive
from visterm.faces.web.problems import documented
from visterm.faces.web.teaching import Body, Name
from visterm.review.word_documents import DeclinedWords, SuggestedWords, WordQuestions

router = APIRouter(prefix="/review", tags=["review"])


class DeclineBody(Body):
    """A suggested word that a person does not want."""

    word: Name = Field(examples=["castle"])
    decline: bool = Field(True, description="False takes this back, so that the word may be suggested again.")


@router.get("/words", responses=documented(429))
def words(photos: Photos, limit: Annotated[int, Query(ge=1, le=200, examples=[24])] = 24) -> SuggestedWords:
    """Words for pictures without labels, each with its pictures. Accept one with `/decisions`."""
    with expensive():
        return photos.suggested_words(limit=limit)


@router.post("/words/decline")
def decline(photos: Photos, body: DeclineBody) -> DeclinedWords:
    """Stop suggesting a word."""
    return photos.new_words.decline(body.word, decline=body.decline)


@router.get("/word")
def questions(
    photos: Photos,
    word: Annotated[str, Query(min_length=1, max_length=1000, description="Any word.", examples=["boat"])],
    without: Without = "",
    limit: Annotated[int, Query(ge=1, le=100, examples=[5])] = 5,
) -> WordQuestions:
    """Pictures that may show a word, known or not. Answer with `/decisions`, `answering: "tag"`."""
    left_out = {int(number) for number in without.split(",") if number}
    return photos.new_words.questions(word, without=left_out, limit=limit)
