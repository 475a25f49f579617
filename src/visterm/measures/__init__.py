"""Measures as values: ``PrecisionAt(10)`` has a name and is called on (truth, prediction).

Families, by what they read:

- classes, (y_true, y_pred): :class:`Accuracy`, :class:`MeanClassAccuracy`
- class scores, (y_true, scores): :class:`TopKAccuracy`
- tags, (truth, scores) of (n_pictures, n_tags): :class:`MeanPrecision`, :class:`MeanRecall`, :class:`WordF`,
  :class:`NPlus`, :class:`PicturePrecision`, :class:`PictureRecall`, :class:`PictureF`, :class:`TagAccuracy`,
  :class:`CompleteLength`, :class:`WordAveragePrecision`
- rankings, (relevance, scores) of (n_queries, n_pictures): :class:`AveragePrecision`, :class:`PrecisionAt`,
  :class:`BreakEvenPoint`, :class:`NDCG`

Two rules for ties hold wherever something is measured, or chosen by a measure:

- pictures of equal score may stand in any order, each equally likely, and the value is the expected one
  (:mod:`visterm.measures.ranking`, :class:`TopKAccuracy`);
- of tags with equal scores the rarer comes first, as in the list a person sees (:mod:`visterm.measures.tags`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
