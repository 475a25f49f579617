"""The queries that evaluation asks: those that rankers learn from, made of the test pictures' captions."""

from visterm.ranking.queries import Queries, from_tags, relevant_pictures

__all__ = ["Queries", "from_tags", "relevant_pictures"]
