"""What all topic models promise."""

from __future__ import annotations

import grimp
import numpy as np
import pytest

from visterm.errors import InputError
from visterm.topics import (
    LDA,
    PLSA,
    CorrLDA,
    LinkLDA,
    RefinedCorrLDA,
    RefinedSupervisedLDA,
    SupervisedLDA,
    ThemeLDA,
    TopicCommittee,
    TopicNeighbours,
    UnigramMixture,
)

X = np.random.default_rng(0).poisson(1.0, (12, 6)).astype(float) + np.eye(12, 6)
Y, TAGS = np.arange(12) % 2, np.eye(2)[np.arange(12) % 2]
LABELS = {
    LDA: (),
    PLSA: (TAGS,),
    CorrLDA: (TAGS,),
    LinkLDA: (TAGS,),
    UnigramMixture: (TAGS,),
    RefinedCorrLDA: (TAGS,),
    RefinedSupervisedLDA: (Y, TAGS),
    SupervisedLDA: (Y, TAGS),
    TopicCommittee: (Y, TAGS),
    ThemeLDA: (Y,),
    TopicNeighbours: (Y,),
}
QUESTIONS = (
    "transform", "infer", "perplexity", "score_tags", "predict_proba", "decision_function", "class_scores", "log_joint"
)  # fmt: skip


def fitted(kind):
    short = {"max_iter": 2, "n_members": 2, "refine": 0, "n_settling": 2, "held_out_share": 0.0, "n_neighbors": 3}
    model = kind(2, random_state=0)
    return model.set_params(**{k: v for k, v in short.items() if k in model.get_params()}).fit(X, *LABELS[kind])


@pytest.mark.parametrize("kind", LABELS)
def test_every_question_takes_pictures_of_the_known_codewords_only(kind):
    model = fitted(kind)
    asked = [getattr(model, name) for name in QUESTIONS if hasattr(model, name)]
    for question in asked:
        with pytest.raises(InputError, match=r"X has 5 features, but .* is expecting 6 features"):
            question(X[:, :5])
        question(X)
    assert model.n_features_in_ == 6


@pytest.mark.parametrize("kind", LABELS)
def test_they_count_codewords(kind):
    assert kind().__sklearn_tags__().input_tags.positive_only
    with pytest.raises(InputError, match="Negative"):
        kind(2).fit(-X, *LABELS[kind])
    with pytest.raises(InputError, match="n_topics"):
        kind(0).fit(X, *LABELS[kind])


def test_what_their_scores_are():
    assert LinkLDA.scores_are_chances
    assert PLSA.scores_are_chances
    assert UnigramMixture.scores_are_chances
    assert CorrLDA.scores_are_probabilities
    assert SupervisedLDA.scores_are_probabilities
    assert TopicCommittee.scores_are_probabilities


@pytest.mark.parametrize("kind", [LDA, LinkLDA, CorrLDA, SupervisedLDA, RefinedSupervisedLDA])
def test_alpha_stays_as_it_was_unless_it_is_to_be_learned(kind):
    model = fitted(kind)
    assert (model.alpha_ == model.alpha).all()
    learned = model.set_params(learn_alpha=True).fit(X, *LABELS[kind])
    assert (learned.alpha_ != model.alpha).all()


@pytest.mark.parametrize("kind", [PLSA, CorrLDA, LinkLDA, UnigramMixture, SupervisedLDA, TopicCommittee])
def test_tags_are_counted(kind):
    model = fitted(kind)
    assert model.tag_counts_.tolist() == [6, 6]
    assert model.mean_n_tags_ == 1


def test_corr_lda_knows_no_classes():
    model = fitted(CorrLDA)
    assert model.class_coefficients_.shape == (0, 2)
    assert RefinedCorrLDA(2, random_state=0).partial_fit(X, TAGS).class_coefficients_.shape == (0, 2)


@pytest.mark.parametrize("kind", [RefinedCorrLDA, RefinedSupervisedLDA])
def test_batches_check_parameters_and_widths_too(kind):
    with pytest.raises(InputError, match="n_topics"):
        kind(0).partial_fit(X, *LABELS[kind])
    model = kind(2, random_state=0).partial_fit(X, *LABELS[kind])
    with pytest.raises(InputError, match="6"):
        model.partial_fit(X[:, :5], *LABELS[kind])
    assert model.n_iter_ == len(model.objective_) == 1


@pytest.mark.parametrize("paper", ["corr_lda", "lda", "link_lda", "plsa", "slda", "theme_lda", "unigram_mixture"])
def test_the_class_of_a_paper_can_be_read_with_six_other_files_open(paper, imports):
    others = imports.find_upstream_modules(f"visterm.topics.{paper}")
    packages = {"visterm.topics", "visterm.topics.inference"}
    assert len({name for name in others if name.startswith("visterm.topics.")} - packages) <= 6


@pytest.fixture(scope="module")
def imports():
    return grimp.build_graph("visterm")
