"""What every registered method must do, read from the registry: a new method is tested by being registered."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from visterm import registry
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.models import Model, ModelInfo, load_model, save_model
from visterm.ranking import TagRanker
from visterm.vision.recipes import recipe, recipe_names

ALL = registry.methods()
CLASSIFIERS = [method for method in ALL if Task.CLASSIFY in method.tasks]
ANNOTATORS = [method for method in ALL if Task.ANNOTATE in method.tasks]
RANKERS = [method for method in ALL if method.does(Task.RANK)]

#: Checks of scikit-learn that a Visterm classifier fails on purpose, with the reason.
EXEMPT = {"check_classifiers_classes": "it uses -1 as a class, which means an unknown class here"}


def by_name(methods):
    return pytest.mark.parametrize("method", methods, ids=lambda method: method.name)


def create(method, **parameters):
    estimator = method.create(**parameters)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator


def fit(method, estimator, X, y, tags):
    """Fit with what the method's tasks need."""
    if method.tasks >= {Task.CLASSIFY, Task.ANNOTATE}:
        return estimator.fit(X, y=y, tags=tags)
    return estimator.fit(X, y) if Task.CLASSIFY in method.tasks else estimator.fit(X, tags)


def answers(method, estimator, X):
    """All that the fitted method says of ``X``, by name."""
    said = {}
    for name in ("predict_proba", "decision_function", "score_tags"):
        if hasattr(estimator, name):
            said[name] = getattr(estimator, name)(X)
    if Task.CLASSIFY in method.tasks:
        said["predict"] = estimator.predict(X)
    if Task.RANK in method.tasks:
        said["score_queries"] = estimator.score_queries(X, np.eye(4, dtype=np.float32))
    return said


def assert_same(a, b, **tolerance):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_allclose(a[name], b[name], err_msg=name, **tolerance)


def fit_known(method, known):
    rows = known.train
    return fit(method, create(method), known.X[rows], known.y[rows], known.tags[rows])


@pytest.fixture(scope="module")
def fitted(known):
    """A method fitted to the known pictures, once for all tests, which do not change it."""
    made = {}

    def make(method):
        if method.name not in made:
            made[method.name] = fit_known(method, known)
        return made[method.name]

    return make


def test_there_is_one_floor_for_each_task():
    for task in Task:
        assert [method.is_baseline for method in registry.methods(task)].count(True) == 1
        assert registry.baseline(task).is_baseline


@by_name(ALL)
def test_registration_is_complete(method):
    assert method.recipe in recipe_names()
    assert method.summary
    assert method.tasks
    assert method.load().__doc__


@by_name(ALL)
def test_parameters_are_scikit_learn_parameters(method):
    estimator = method.create()
    parameters = estimator.get_params(deep=False)
    assert clone(estimator).get_params(deep=False) == parameters
    assert estimator.set_params(**parameters).get_params(deep=False) == parameters
    with pytest.raises(InputError, match="no parameter"):
        method.create(no_such_parameter=1)


@by_name(ALL)
def test_fit_returns_self_and_changes_neither_parameters_nor_data(method, known):
    X, y, tags = known.X.copy(), known.y.copy(), known.tags.copy()
    estimator = create(method)
    before = estimator.get_params()
    assert fit(method, estimator, X, y, tags) is estimator
    assert estimator.get_params() == before
    answers(method, estimator, X)
    np.testing.assert_array_equal(X, known.X)
    np.testing.assert_array_equal(y, known.y)
    np.testing.assert_array_equal(tags.toarray(), known.tags.toarray())
    assert estimator.n_features_in_ == X.shape[1]


@by_name(ALL)
def test_same_seed_same_answers(method, fitted, known):
    X = known.X[known.test]
    assert_same(answers(method, fit_known(method, known), X), answers(method, fitted(method), X), rtol=0, atol=0)


@by_name(ALL)
def test_refitting_forgets(method, known):
    estimator = fit_known(method, known)
    fit(method, estimator, known.X[:, :9], known.y, known.tags)
    assert_same(
        answers(method, estimator, known.X[:5, :9]),
        answers(method, fit(method, create(method), known.X[:, :9], known.y, known.tags), known.X[:5, :9]),
    )


@by_name(ALL)
@pytest.mark.parametrize("convert", [sparse.csr_array, sparse.csr_matrix, np.asfortranarray, np.ndarray.tolist])
def test_kinds_of_arrays_do_not_matter(method, convert, fitted, known):
    estimator = fit(
        method, create(method), convert(known.X[known.train]), known.y[known.train], known.tags[known.train]
    )
    expected = answers(method, fitted(method), known.X[known.test])
    assert_same(answers(method, estimator, convert(known.X[known.test])), expected, rtol=1e-6, atol=1e-9)


@by_name(ALL)
def test_float32_is_enough(method, fitted, known):
    rows = known.train
    single = fit(method, create(method), known.X[rows].astype(np.float32), known.y[rows], known.tags[rows])
    said = answers(method, single, known.X[known.test].astype(np.float32))
    assert_same(said, answers(method, fitted(method), known.X[known.test]), rtol=1e-3, atol=1e-3)


@by_name(ALL)
def test_each_picture_is_answered_for_itself(method, fitted, known):
    estimator, X = fitted(method), known.X[known.test]
    whole = answers(method, estimator, X)
    backwards = answers(method, estimator, X[::-1])
    for name, values in whole.items():
        rows = np.swapaxes(values, 0, -1) if name == "score_queries" else values
        reversed_rows = np.swapaxes(backwards[name], 0, -1) if name == "score_queries" else backwards[name]
        np.testing.assert_allclose(reversed_rows[::-1], rows, rtol=1e-6, atol=1e-9)
    one = answers(method, estimator, X[:1])
    none = answers(method, estimator, X[:0])
    for name in whole:
        assert (
            one[name].shape == (*whole[name].shape[:-1], 1) if name == "score_queries" else (1, *whole[name].shape[1:])
        )
        assert 0 in none[name].shape


@by_name(ALL)
def test_answers_are_finite_and_of_the_promised_shape(method, fitted, known):
    estimator, X = fitted(method), known.X[known.test]
    said = answers(method, estimator, X)
    for values in said.values():
        assert np.isfinite(values).all()
    if "predict_proba" in said:
        assert said["predict_proba"].shape == (len(X), len(estimator.classes_))
        np.testing.assert_allclose(said["predict_proba"].sum(axis=1), 1, rtol=1e-6)
        assert (said["predict_proba"] >= 0).all()
    if "predict" in said:
        assert set(said["predict"]) <= set(estimator.classes_)
    if "score_tags" in said:
        assert said["score_tags"].shape == (len(X), known.tags.shape[1])
        if estimator.scores_are_probabilities:
            assert said["score_tags"].min() >= 0
            assert said["score_tags"].max() <= 1


@by_name(ALL)
def test_unfitted_is_refused(method, known):
    for name in ("predict", "predict_proba", "decision_function", "score_tags"):
        estimator = create(method)
        if hasattr(estimator, name):
            with pytest.raises(NotFittedError, match="not fitted"):
                getattr(estimator, name)(known.X)


@by_name(ALL)
def test_bad_input_is_refused_by_name(method, fitted, known):
    X, y, tags = known.X, known.y, known.tags
    with pytest.raises(InputError, match=r"features"):
        answers(method, fitted(method), X[:, :5])
    for value in (np.nan, np.inf):
        spoilt = X.copy()
        spoilt[3, 2] = value
        with pytest.raises(InputError, match=r"NaN|infinity"):
            fit(method, create(method), spoilt, y, tags)
        with pytest.raises(InputError, match=r"NaN|infinity"):
            answers(method, fitted(method), spoilt)
    with pytest.raises(InputError, match="pictures"):
        fit(method, create(method), X, y[:-1], tags[:-1])
    with pytest.raises(InputError):
        fit(method, create(method), X[:0], y[:0], tags[:0])
    with pytest.raises(InputError):
        fit(method, create(method), X[0], y, tags)


@by_name(CLASSIFIERS)
def test_pictures_of_unknown_class_are_no_class(method, known):
    y = known.y.copy()
    y[::4] = -1
    estimator = fit(method, create(method), known.X, y, known.tags)
    np.testing.assert_array_equal(estimator.classes_, [0, 1, 2])
    with pytest.raises(InputError, match="no picture has a class"):
        fit(method, create(method), known.X, np.full(len(y), -1), sparse.csr_array(known.tags.shape))


@by_name(CLASSIFIERS)
def test_unknown_classes_among_names_are_no_class(method, known):
    names = np.array(["coast", "forest", "street"], dtype=object)[known.y]
    for unknown in (None, "-1"):
        y = names.copy()
        y[::4] = unknown
        estimator = fit(method, create(method), known.X, y.tolist(), known.tags)
        assert list(estimator.classes_) == ["coast", "forest", "street"]


@by_name(CLASSIFIERS)
def test_class_names_may_be_strings(method, known):
    names = np.array(["coast", "forest", "street"])
    estimator = fit(method, create(method), known.X, names[known.y], known.tags)
    numbers = fit(method, create(method), known.X, known.y, known.tags)
    np.testing.assert_array_equal(estimator.predict(known.X), names[numbers.predict(known.X)])


@by_name([method for method in CLASSIFIERS if Task.ANNOTATE not in method.tasks])
@pytest.mark.filterwarnings("ignore")
def test_classifiers_pass_the_checks_of_scikit_learn(method):
    # The class's own defaults: scikit-learn's blobs are not the histograms that registered methods are set up for.
    check_estimator(method.load()(), expected_failed_checks=EXEMPT)


@by_name(CLASSIFIERS)
def test_classifiers_work_in_pipelines_and_grid_search(method, known):
    pipeline = make_pipeline(FunctionTransformer(np.sqrt), create(method))
    search = GridSearchCV(pipeline, {}, cv=2).fit(known.X, known.y)
    assert 0 <= search.best_score_ <= 1


@by_name(ANNOTATORS)
def test_rows_without_tags_are_not_tagged_rather_than_negative(method, known):
    untagged = known.tags.copy().toarray()
    untagged[::3] = 0
    estimator = fit(method, create(method), known.X, known.y, untagged)
    assert np.isfinite(estimator.score_tags(known.X)).all()
    with pytest.raises(InputError, match=r"no picture has a (class or a )?tag"):
        fit(method, create(method), known.X, np.full(len(known.y), -1), np.zeros(known.tags.shape))
    with pytest.raises(InputError, match="0 or 1"):
        fit(method, create(method), known.X, known.y, known.tags.toarray() * 2)


@by_name(ANNOTATORS)
def test_annotators_predict_and_score_tags(method, known):
    X, tags = known.X[known.train], known.tags[known.train]
    estimator = create(method).fit(X, tags=tags)
    predicted, scores = estimator.predict(known.X[known.test]), estimator.score_tags(known.X[known.test])
    assert sparse.issparse(predicted)
    assert predicted.format == "csr"
    assert predicted.shape == scores.shape
    assert set(predicted.data.tolist()) == {1.0}
    np.testing.assert_array_equal(np.diff(predicted.indptr), round(tags.nnz / tags.shape[0]))
    least, most = scores.copy(), scores.copy()
    least[predicted.toarray() == 0], most[predicted.toarray() == 1] = np.inf, -np.inf
    assert (least.min(axis=1) >= most.max(axis=1)).all()  # no tag that is left out has a higher score
    assert estimator.predict(known.X[:0]).shape == (0, 4)
    value = estimator.score(known.X[known.test], known.tags[known.test])
    assert 0 < value <= 1
    if not method.is_baseline:
        baseline = create(registry.baseline(Task.ANNOTATE)).fit(X, tags)
        assert value > baseline.score(known.X[known.test], known.tags[known.test]) + 0.03
    with pytest.raises(InputError, match=r"no picture has a (class or a )?tag"):
        estimator.score(known.X, sparse.csr_array(known.tags.shape))


@by_name([method for method in ANNOTATORS if Task.CLASSIFY in method.tasks])
def test_methods_of_both_kinds_predict_classes_and_score_either(method, fitted, known):
    estimator, X = fitted(method), known.X[known.test]
    np.testing.assert_array_equal(np.isin(estimator.predict(X), [0, 1, 2]), True)
    assert estimator.score(X, known.y[known.test]) == np.mean(estimator.predict(X) == known.y[known.test])
    tags_alone = create(method).fit(known.X[known.train], tags=known.tags[known.train])
    assert estimator.score(X, known.tags[known.test]) == pytest.approx(
        tags_alone.score(X, known.tags[known.test]), abs=0.1
    )


@by_name(ANNOTATORS)
def test_annotators_work_in_pipelines_and_cross_validation(method, known):
    pipeline = make_pipeline(FunctionTransformer(np.sqrt), create(method))
    values = cross_val_score(pipeline, known.X, known.tags.toarray(), cv=2)
    assert ((values > 0.4) & (values <= 1)).all()


@pytest.mark.parametrize(
    ("name", "worse", "better"),
    [
        ("knn-tags", {"n_neighbors": 60}, {"n_neighbors": 8}),
        ("ridge-tags", {"kernel": "exp-chi2:2000"}, {"kernel": "hellinger"}),
        ("corr-lda", {"n_topics": 1}, {"n_topics": 4}),
        ("label-propagation", {"n_neighbors": 60}, {"n_neighbors": 5}),
        ("cmrm", {"alpha": 1.0}, {"alpha": 0.5}),
    ],
    ids=["neighbours", "margin", "topics", "graph", "ranking"],
)
def test_grid_search_chooses_by_the_ranking_of_tags(name, worse, better, known):
    (parameter,) = worse
    grid = {parameter: [worse[parameter], better[parameter]]}
    search = GridSearchCV(create(registry.get(name)), grid, cv=2).fit(known.X, known.tags)
    assert search.best_params_ == better
    assert search.predict(known.X).shape == known.tags.shape


@pytest.fixture(scope="module")
def many_tags():
    """1,200 bags with 60 tags; the most frequent is on every fourth picture, the rarest on one of a hundred."""
    rng = np.random.default_rng(0)
    shows = rng.dirichlet(np.full(12, 0.3), 1200)
    chances = np.geomspace(0.25, 0.008, 60) * (0.25 + 9 * shows[:, np.arange(60) % 12])
    tags = rng.random(chances.shape) < np.minimum(chances, 0.95)
    X = rng.poisson(160 * shows @ rng.dirichlet(np.full(40, 0.2), 12) + 0.8).astype(np.float64)
    return X, sparse.csr_array(tags.astype(np.float32))


@by_name(ANNOTATORS)
def test_probabilities_are_right_on_average_for_frequent_and_rare_tags(method, many_tags):
    """A method whose scores are no probabilities says so."""
    X, tags = many_tags
    estimator = create(method)
    if not estimator.scores_are_probabilities:
        return
    estimator.fit(X[:800], tags=tags[:800])
    p, truth = estimator.score_tags(X[800:]), tags[800:].toarray()
    for band in np.array_split(np.argsort(estimator.tag_counts_), 3):
        assert 0.5 < p[:, band].mean() / truth[:, band].mean() < 2


@by_name([method for method in CLASSIFIERS if not method.is_baseline])
def test_classifiers_beat_the_floor(method, fitted, known):
    X, y = known.X[known.test], known.y[known.test]
    baseline = fitted(registry.baseline(Task.CLASSIFY)).score(X, y)
    assert np.mean(fitted(method).predict(X) == y) > baseline + 0.3


@by_name([method for method in ANNOTATORS if not method.is_baseline])
def test_annotators_beat_the_floor(method, fitted, known):
    X, tags = known.X[known.test], known.tags[known.test].toarray()

    def separation(scores):
        """How far the scores of present tags lie above those of absent ones, tag by tag, in deviations."""
        spread = scores.std(axis=0) + 1e-9
        return np.mean(
            [(scores[tags[:, t] == 1, t].mean() - scores[tags[:, t] == 0, t].mean()) / spread[t] for t in range(4)]
        )

    assert (
        separation(fitted(method).score_tags(X))
        > separation(fitted(registry.baseline(Task.ANNOTATE)).score_tags(X)) + 0.5
    )


@by_name(RANKERS)
def test_rankers_answer_queries(method, known):
    estimator = create(method)
    ranker = estimator if Task.RANK in method.tasks else TagRanker(estimator)
    ranker.fit(known.X[known.train], known.tags[known.train])
    Q = np.array([[1, 0, 0, 0], [0, 0.6, 0, 0.8], [0, 0, 0, 0]], dtype=np.float32)
    scores = ranker.score_queries(known.X[known.test], Q)
    assert scores.shape == (3, len(known.test))
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(ranker.score_queries(known.X[known.test], sparse.csr_array(Q)), scores)
    with pytest.raises(InputError, match="queries must be"):
        ranker.score_queries(known.X, Q[:, :2])
    if not method.is_baseline:
        relevant = known.tags[known.test].toarray()[:, 0] == 1
        assert scores[0, relevant].mean() > scores[0, ~relevant].mean()


@by_name(ALL)
def test_models_survive_the_disk(method, fitted, known, tmp_path):
    estimator = fitted(method)
    chosen = recipe(method.recipe)
    info = ModelInfo("test", 1, method.name, tuple(sorted(method.tasks)), (), (), (), 0, chosen.name, chosen.hash)
    save_model(Model.of(info, estimator, chosen), tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.info == info
    assert loaded.estimator.get_params() == estimator.get_params()
    X = known.X[known.test]
    assert_same(answers(method, loaded.estimator, X), answers(method, estimator, X), rtol=0, atol=0)


@pytest.mark.parametrize("name", ["caption-ridge", "ridge-tags", "sdca"])
def test_models_by_landmarks_survive_the_disk(name, known, tmp_path):
    method, chosen = registry.get(name), recipe("deep")
    rows = known.train
    estimator = fit(method, create(method, landmarks=20), known.X[rows], known.y[rows], known.tags[rows])
    info = ModelInfo("test", 1, name, tuple(sorted(method.tasks)), (), (), (), 0, chosen.name, chosen.hash)
    save_model(Model.of(info, estimator, chosen), tmp_path / "model")
    loaded = load_model(tmp_path / "model").estimator
    assert loaded.n_landmarks_ == 20
    assert_same(answers(method, loaded, known.X), answers(method, estimator, known.X), rtol=0, atol=0)
    if name != "sdca":
        assert_same(
            answers(method, loaded.as_if_left_out(), known.X[rows]),
            answers(method, estimator.as_if_left_out(), known.X[rows]),
            rtol=0,
            atol=0,
        )
