"""Finding pictures by any text: canonical correlations between pictures and the sentences said of them."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from visterm.compute.halves import singles
from visterm.compute.rows import evenly, slices, unit
from visterm.compute.threads import blas_threads_for
from visterm.contracts import (
    FROM_1,
    NOT_NEGATIVE,
    POSITIVE,
    AnnotatorMixin,
    Estimator,
    Features,
    Matrix,
    Scores,
    check_feature_mapping,
    check_queries,
    check_tags,
    declared,
    n_pictures,
)
from visterm.errors import InputError
from visterm.language.text_encoder import DEFAULT, TextEncoder, text_encoder
from visterm.ranking.queries import idf
from visterm.ranking.spaces.said_texts import Said, said_of_pictures, seen_texts, usual_sentence
from visterm.ranking.spaces.shared_space import SharedSpace, crowding
from visterm.subspace import Moments, ViewMoments

Array = NDArray[Any]

#: This many pictures are taken at a time.
_BLOCK = 8192
#: Wider features would need too large a covariance matrix.
_MAX_DIMS = 4096
#: Crowding is measured on at most this many training pictures.
_MAX_BANK = 1000
#: The number of neighbours in crowding.
_N_NEAREST = 10
#: Where this many pictures have a text, what a network sees counts half: its bias stays, that of the texts' sums fades.
_MANY_TEXTS = 500
#: Where this many pictures have a text, crowding of pictures counts half.
_FEW_TEXTS = 100
#: How many times the ridge of texts is as large before there are texts as where there are many.
_RIDGE_WITHOUT_TEXTS = 4.0
#: The mean of the texts counts half, against the usual sentence, where this many pictures have one.
_FEW_FOR_MEAN = 10
#: The length of a picture's mean text around the mean of all: what a network sees gets it, too.
_USUAL_LENGTH = 0.55


@declared
class SentenceCCA(AnnotatorMixin, Estimator):
    """Ranks pictures for any text: a sentence, a word that no picture has, in any language of the text encoder.

    Pictures and texts meet in one space (:class:`~visterm.ranking.spaces.shared_space.SharedSpace`): the canonical
    directions between features, as roots of length one, and the vectors of texts, times their correlations. The score
    of a text q and a picture p is

        2 cos(q, p) - r(q) - r(p)

    where r, the mean cosine with the 10 nearest of the other kind among training pictures, is how much a text or a
    picture resembles everything (Conneau et al., ICLR 2018). All of it is one product of :meth:`picture_codes` and
    :meth:`text_codes`.

    Pictures may have several texts: captions, class names, and their tags, which are read as "tag, tag, tag" if
    ``tag_names`` are given (without names, each tag is a direction of its own, and only sets of tags can be asked for).
    Pictures without texts help to learn how features vary. ``class_probabilities`` (n_pictures, 1000), what
    EfficientNet-Lite2 sees in each picture, stand in for texts: the mean of the vectors of the class names, weighted by
    the roots of their probabilities, around its mean. They count as ``n_seen`` pictures with texts, half as many where
    500 pictures have a text, so that the ranker works with no text at all and gets better with each.

    - ``n_dims``: the number of directions.
    - ``picture_ridge``, ``text_ridge``: what is added to the covariances, in units of their mean variance; of texts, up
      to four times as much where few pictures have any.
    - ``encoder``: the name of the text encoder (:func:`visterm.language.text_encoder`).

    References: H. Hotelling, Relations between two sets of variates, Biometrika 1936; regularised and scaled by
    correlations, as Y. Gong et al., A multi-view embedding space, IJCV 2014. The target, a text space that pictures are
    projected into, is the idea of Grangier and Bengio (TPAMI 2008).

    >>> X = [[1.0, 0.0, 0.1], [0.9, 0.1, 0.0], [0.0, 1.0, 0.1], [0.1, 0.9, 0.0]]
    >>> model = SentenceCCA().fit(X, [[1, 0], [1, 0], [0, 1], [0, 1]], tag_names=["dog", "sea"])
    >>> int(model.score_texts([[0.8, 0.2, 0.0], [0.1, 0.9, 0.0]], ["Wellen am Strand"]).argmax())
    1
    """

    learns_from_names = True

    n_dims: Annotated[int, FROM_1] = 128
    _: KW_ONLY
    picture_ridge: Annotated[float, POSITIVE] = 3.0
    text_ridge: Annotated[float, POSITIVE] = 1.0
    n_seen: Annotated[float, NOT_NEGATIVE] = 1000.0
    encoder: str = DEFAULT
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "n_tags_": "n_tags=int >=0",
        "n_texts_": "int >=0",
        "encoder_": "text",
        "idf_": "n_tags",
        "x_mean_": "n_features",
        "text_mean_": "n_dims",
        "word_codes_": "n_tags n_code",
        "bank_pictures_": "n_bank n_code",
        "bank_texts_": "n_bank_texts n_code",
    }

    def fit(
        self,
        X: Features,
        tags: Any = None,
        queries: Any = None,  # noqa: ARG002 - the rankers' contract
        *,
        texts: Sequence[Sequence[str]] | None = None,
        tag_names: Sequence[str] | None = None,
        class_probabilities: Any = None,
    ) -> Self:
        """Learn from all that is said of the pictures; ``texts`` are a sequence of texts for each, perhaps empty."""
        self._validate_params()
        n = n_pictures(X)
        checked = check_tags(sparse.csr_array((n, 0)) if tags is None else tags, n)
        named = texts is not None or tag_names is not None or class_probabilities is not None
        _check_texts(texts, tag_names, n, int(checked.shape[1]))
        if named and tag_names is None and checked.nnz:
            raise InputError("the tags have no names to be compared with texts: pass tag_names")
        encoder = text_encoder(self.encoder) if named else None
        self._learn(X, said_of_pictures(checked, texts, tag_names, encoder), class_probabilities, encoder)
        self.n_tags_ = int(checked.shape[1])
        self._count_tags(checked)
        self.idf_ = idf(self.tag_counts_, max(1, int((np.diff(checked.indptr) > 0).sum())))
        words = np.eye(self.n_tags_, dtype=np.float32)
        if encoder is not None:
            words = encoder.encode(tag_names or [""] * self.n_tags_)
        self.word_codes_ = self._text_directions(words)
        return self

    def fit_said(self, X: Features, said: Said, class_probabilities: Any = None) -> Self:
        """Learn from texts that the encoder has already turned into vectors; only texts can be asked for then."""
        self._validate_params()
        self._learn(X, said, class_probabilities, text_encoder(self.encoder))
        return self

    def _learn(self, X: Features, said: Said, class_probabilities: Any, encoder: TextEncoder | None) -> None:
        features = self._checked(X, fitting=True)
        self.encoder_ = f"{encoder.name} {encoder.fingerprint}" if encoder is not None else ""
        has_text = said.counts > 0
        if not has_text.any() and class_probabilities is None:
            raise InputError("no picture has a tag or another text: at least one is needed to learn from")
        seen = None if class_probabilities is None else seen_texts(class_probabilities, self.encoder)
        if seen is not None and len(seen) != said.n_pictures:
            raise InputError(f"class_probabilities have {len(seen)} rows, but X has {said.n_pictures} pictures")
        self.n_texts_ = int(has_text.sum())
        self._find_directions(features, said, seen)
        self._keep_bank(features, said)

    def score_texts(self, X: Features, texts: Sequence[str]) -> Scores:
        """(n_texts, n_pictures), larger is better: pictures for any text, tag or sentence."""
        return np.asarray(self.text_codes(texts) @ self.picture_codes(X).T)

    def score_queries(self, X: Features, Q: Any) -> Scores:
        """(n_queries, n_pictures), larger is better: pictures for sets of tags."""
        pictures = self.picture_codes(X)
        directions = unit(check_queries(Q, self.n_tags_) @ self.word_codes_)
        return np.asarray(self._with_crowding(directions) @ pictures.T)

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags), larger is better."""
        return np.asarray(self.picture_codes(X) @ self._with_crowding(self.word_codes_).T)

    def picture_codes(self, X: Features) -> NDArray[np.float64]:
        """(n_pictures, n_code + 2): what of a picture counts for any text; keep it, and a query is one product."""
        check_is_fitted(self)
        features = self._checked(X, fitting=False)
        parts = [self._picture_directions(features, rows) for rows in slices(n_pictures(features), _BLOCK)]
        directions = np.concatenate([*parts, np.empty((0, self.space_.x_components_.shape[1]))])
        crowds = self._trust * crowding(directions, self.bank_texts_, _N_NEAREST)
        return np.column_stack([directions, crowds, np.ones_like(crowds)])

    def text_codes(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(n_texts, n_code + 2): its products with :meth:`picture_codes` are the scores."""
        check_is_fitted(self)
        encoder = text_encoder(self.encoder)
        if not self.encoder_:
            raise InputError("this ranker has learned tags without names: fit it with tag_names or texts")
        if self.encoder_ != f"{encoder.name} {encoder.fingerprint}":
            raise InputError(
                f"this ranker learned from texts by the encoder {self.encoder_!r}, "
                f"but here is {encoder.name} {encoder.fingerprint}: train it again"
            )
        with blas_threads_for(len(texts)):
            return self._with_crowding(self._text_directions(encoder.encode(list(texts))))

    @property
    def _trust(self) -> float:
        """How much the covariances of texts can be trusted: from 0 without texts towards 1."""
        return self.n_texts_ / (self.n_texts_ + _FEW_TEXTS)

    def _with_crowding(self, directions: Array) -> NDArray[np.float64]:
        crowds = crowding(directions, self.bank_pictures_, _N_NEAREST)
        return np.column_stack([2 * directions, -np.ones_like(crowds), -crowds])

    def _checked(self, X: Features, *, fitting: bool) -> dict[str, Matrix]:
        checked = check_feature_mapping(self, X, fitting=fitting)
        if self.n_features_in_ > _MAX_DIMS:
            raise InputError(
                f"{type(self).__name__} of {self.n_features_in_} features would need too large a covariance matrix: "
                f"reduce them to at most {_MAX_DIMS} first, with KernelMap or PCA"
            )
        return checked

    def _find_directions(self, features: dict[str, Matrix], said: Said, seen: Array | None) -> None:
        """The covariances of pictures, of texts, and of both, in one pass over the pictures; then the shared space."""
        means, has_text = said.means(), said.counts > 0
        pictures, of_texts, of_seen = Moments(), ViewMoments(covariance=False), ViewMoments(covariance=False)
        seen_directions = None if seen is None else _USUAL_LENGTH * unit(seen - seen.mean(axis=0))
        for rows in slices(len(means), _BLOCK):
            block = _rooted(features, rows)
            pictures.partial_fit(block)
            if has_text[rows].any():
                of_texts.partial_fit(block[has_text[rows]], means[rows][has_text[rows]])
            if seen_directions is not None:
                of_seen.partial_fit(block, seen_directions[rows])
        n, width = self.n_texts_, means.shape[1]
        C_xy, C_yy = np.zeros((self.n_features_in_, width)), np.zeros((width, width))
        self.text_mean_ = np.zeros(width)
        if n:
            C_xy += n * of_texts.C_xy
            single = Moments().fit(said.vectors)
            C_yy += n * single.C_xx
            self.text_mean_ = single.x_mean_
        n_seen = 0.0 if seen_directions is None else self.n_seen * _MANY_TEXTS / (n + _MANY_TEXTS)
        if seen_directions is not None:
            C_xy += n_seen * of_seen.C_xy
            C_yy += n_seen * of_seen.C_yy
            usual = _FEW_FOR_MEAN * usual_sentence(self.encoder)
            self.text_mean_ = (n * self.text_mean_ + usual) / (n + _FEW_FOR_MEAN)
        self.x_mean_ = pictures.x_mean_
        ridge = self.text_ridge * (_RIDGE_WITHOUT_TEXTS + (1 - _RIDGE_WITHOUT_TEXTS) * self._trust)
        self.space_ = SharedSpace(self.n_dims, x_ridge=self.picture_ridge, y_ridge=ridge)
        self.space_.fit(pictures.C_xx, C_xy / max(1e-9, n + n_seen), C_yy / max(1e-9, n + n_seen))

    def _keep_bank(self, features: dict[str, Matrix], said: Said) -> None:
        """Some training pictures and texts: crowding is the nearness to them."""
        with_text = np.flatnonzero(said.counts)
        candidates = with_text if len(with_text) else np.arange(said.n_pictures)
        chosen = candidates[evenly(len(candidates), _MAX_BANK)]
        self.bank_pictures_ = self._picture_directions(features, chosen)
        directions = Said(self._text_directions(said.vectors), said.of, said.n_pictures)
        self.bank_texts_ = unit(directions.means()[with_text[evenly(len(with_text), _MAX_BANK)]])

    def _picture_directions(self, features: dict[str, Matrix], rows: Any) -> Array:
        return self.space_.pictures(_rooted(features, rows) - self.x_mean_)

    def _text_directions(self, vectors: Array) -> NDArray[np.float64]:
        directions = self.space_.texts(vectors - self.text_mean_)
        directions[~vectors.any(axis=1)] = 0  # what says nothing is near nothing
        return directions


def _rooted(features: dict[str, Matrix], rows: Any) -> NDArray[np.float32]:
    """Some pictures: the signed roots of each feature, of length one, side by side.

    Roots keep a few large numbers from deciding everything; they are the Hellinger map of a histogram.
    """
    parts = []
    for matrix in features.values():
        block = matrix[rows]
        dense = block if isinstance(block, np.ndarray) else block.toarray()
        single = np.asarray(singles(dense) if dense.dtype == np.float16 else dense, np.float32, order="C")
        parts.append(unit(np.sign(single) * np.sqrt(np.abs(single))))
    return np.hstack(parts)


def _check_texts(
    texts: Sequence[Sequence[str]] | None, tag_names: Sequence[str] | None, n_rows: int, n_tags: int
) -> None:
    if tag_names is not None and len(tag_names) != n_tags:
        raise InputError(f"there are {n_tags} columns of tags, but {len(tag_names)} tag_names")
    if texts is None:
        return
    if len(texts) != n_rows:
        raise InputError(f"texts must be a sequence of texts for each of the {n_rows} pictures, but has {len(texts)}")
    wrong = next((row for row, own in enumerate(texts) if isinstance(own, str)), None)
    if wrong is not None:
        raise InputError(f"the texts of picture {wrong} are one text, not a sequence of them: write [text]")
