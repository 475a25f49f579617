"""Review: what is asked, what looks wrong, what waits; and learning from answers in the background."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from PIL import Image

from visterm.catalogue.acts import Extent
from visterm.errors import InputError
from visterm.labels.deciding import Decision
from visterm.review import asking, queues
from visterm.review.curve import expected
from visterm.review.reviewer import Reviewer
from visterm.workspace import Workspace


def numbers(questions):
    return [each.id for each in questions.questions]


def key_of(photos, number):
    (picture,) = photos.catalogue.pictures_with_ids([number])
    return picture.sha256


def test_the_state_counts_what_waits(kept):
    state = kept.reviewer.state()
    view = kept.views.newest()
    assert (state.ready, state.cold, state.kind, state.problem) == (True, False, "class", None)
    assert state.labelled == int((view.classes >= 0).sum())
    assert state.labelled + state.unlabelled == len(view) == 50
    assert state.asked == ["class", "tag"]
    tagged = np.diff(view.collection.truth.tags[view.rows].indptr) > 0
    assert state.teach == int(((view.classes < 0) | ~tagged).sum()) == kept.reviewer.questions("teach").left
    assert state.errors == kept.reviewer.questions("errors").left
    assert state.curve[-1].labels == state.labelled
    assert 0 <= state.curve[-1].quality <= 1
    assert state.alike == kept.reviewer.groups().pictures > 0
    for work in state.tags:
        assert kept.reviewer.questions("tag", tag=work.name).left == work.pictures


def test_questions_are_about_undecided_pictures(kept):
    view = kept.views.newest()
    asked = kept.reviewer.questions("teach", limit=100)
    no_class = {int(view.ids[row]) for row in np.flatnonzero(view.classes < 0)}
    n_tags = np.diff(view.collection.truth.tags[view.rows].indptr)
    no_tags = {int(view.ids[row]) for row in np.flatnonzero(n_tags == 0)}
    assert set(numbers(asked)) == no_class | no_tags
    teaching = [number for number in numbers(asked) if number not in asked.measuring]
    assert set(teaching[: len(no_class - set(asked.measuring))]) <= no_class, "they come first"
    for each in asked.questions:
        assert (each.key, each.width, each.height) == (key_of(kept, each.id), 256, 192)
        for kind, lacking in (("class", no_class), ("tag", no_tags)):
            chances = [option.probability for option in each.labels if option.kind == kind]
            assert chances == sorted(chances, reverse=True)
            assert len(chances) == (9 if each.id in lacking else 0), "both are asked for where both are missing"
    some = numbers(asked)[:3]
    assert not set(some) & set(numbers(kept.reviewer.questions("teach", without=some, limit=100)))


def learned(photos, tag, ids):
    """What the review has learned of a tag, by which it orders; people see what the model in use says."""
    fit, view = photos.reviewer._fit, photos.views.newest()
    row_of = {int(view.ids[place]): row for row, place in enumerate(fit.places)}
    return [float(fit.tags.p[row_of[number], fit.tag_names.index(tag)]) for number in ids]


def test_a_tag_is_asked_about_around_its_threshold(kept):
    name = kept.reviewer.state().tags[0].name
    asked = kept.reviewer.questions("tag", tag=name, limit=100)
    truth = kept.collection().truth
    column = truth.tag_names.index(name)
    has = {int(n) for n, row in zip(truth.ids, truth.tags[:, [column]].toarray().ravel(), strict=True) if row}
    assert asked.questions
    assert not has & set(numbers(asked))
    assert {(each.asked.kind, each.asked.name) for each in asked.questions} == {("tag", name)}
    fit = kept.reviewer._fit
    threshold = float(fit.tags.thresholds[fit.tag_names.index(name)])

    def odds(p):
        p = np.clip(p, 1e-4, 1 - 1e-4)
        return np.log(p / (1 - p))

    far = [abs(odds(p) - odds(min(threshold, 0.99))) for p in learned(kept, name, numbers(asked))]
    assert np.all(np.diff(far) >= -1e-6)
    first = numbers(asked)[0]
    assert first not in numbers(kept.reviewer.questions("tag", tag=name, without=[first], limit=100))
    for unknown in ("zeppelin", None):
        with pytest.raises(InputError, match="cannot be reviewed"):
            kept.reviewer.questions("tag", tag=unknown)


def test_six_pictures_are_asked_about_one_tag(kept):
    asked = kept.reviewer.questions("six", limit=4)
    truth = kept.collection().truth
    row_of = {int(number): row for row, number in enumerate(truth.ids)}
    assert asked.questions == []
    assert len({each.tag for each in asked.six}) == len(asked.six) == 4
    shown = [picture.id for each in asked.six for picture in each.pictures]
    assert len(shown) == len(set(shown)), "no picture is asked about twice at a time"
    for each in asked.six:
        assert 1 <= len(each.pictures) <= 6
        chances = learned(kept, each.tag, [picture.id for picture in each.pictures])
        assert {(picture.asked.kind, picture.asked.name) for picture in each.pictures} == {("tag", each.tag)}
        assert chances == sorted(chances, reverse=True)
        rows = [row_of[picture.id] for picture in each.pictures]
        assert set(truth.extent[rows].tolist()) == {Extent.PART}, "a complete description says it already"
    assert len(asked.six[0].pictures) == 6
    waiting = {picture.id for picture in asked.six[0].pictures}
    later = kept.reviewer.questions("six", without=waiting, limit=4)
    assert not waiting & {picture.id for each in later.six for picture in each.pictures}


def test_six_pictures_are_asked_about_a_tag_until_none_is_in_doubt(photos):
    reviewer = photos.reviewer
    asked = reviewer.questions("six", tag="sky")
    (one,) = asked.six
    assert one.tag == "sky"
    decisions = [Decision(each.id, "tag", "sky", "accepted") for each in one.pictures[:2]]
    decisions += [Decision(each.id, "tag", "sky", "rejected") for each in one.pictures[2:]]
    photos.decide(decisions, answering="six")
    left = reviewer.questions("six", tag="sky").left
    assert left == asked.left - len(one.pictures)  # at once, before the heads have learned
    photos.undo()
    reviewer.questions("six", tag="sky")
    reviewer.wait()
    assert reviewer.questions("six", tag="sky").left == asked.left
    for _ in range(left):
        found = reviewer.questions("six", tag="sky").six
        if not found:
            break
        photos.decide([Decision(each.id, "tag", "sky", "rejected") for each in found[0].pictures], answering="six")
    assert reviewer.questions("six", tag="sky").left == 0
    with pytest.raises(InputError, match="cannot be reviewed"):
        reviewer.questions("six", tag="zeppelin")


def test_an_answer_about_one_tag_says_nothing_of_other_tags(photos):
    reviewer = photos.reviewer
    reviewer.wait()
    before, ids = reviewer.fit, photos.views.newest().ids
    place = {name: at for at, name in enumerate(before.tag_names)}
    truth = photos.collection().truth
    open_ = set(truth.ids[truth.extent == Extent.PART].tolist())
    rows = [row for row, at in enumerate(before.places) if int(ids[at]) in open_]
    asked = rows[::2]
    photos.decide([Decision(int(ids[before.places[row]]), "tag", "boat", "accepted") for row in asked], answering="six")
    reviewer.wait()
    after = reviewer.fit
    assert after.tags.rows.tolist() == before.tags.rows.tolist(), "these pictures are not described"
    assert after.tags.others.tolist() == asked
    others = rows[1::2]
    change = (after.tags.p - before.tags.p)[others].mean(axis=0)
    assert change[place["boat"]] > 0.2
    assert abs(np.delete(change, place["boat"])).mean() < 0.05
    photos.undo()
    photos.label([key_of(photos, int(ids[before.places[row]])) for row in asked], tags=["boat"], complete=True)
    reviewer.wait()
    assert set(asked) <= set(reviewer.fit.tags.rows.tolist()), "now they are"


def test_where_no_picture_is_described_completely_tags_of_selections_teach(plain):
    plain.features("deep")
    keys = plain.gallery.page(sort="name").keys
    plain.label(keys[0:8:2], tags=["red"], new=True)
    plain.label(keys[1:8:2], tags=["blue"], new=True)
    plain.reviewer.wait()
    assert len(plain.reviewer.fit.tags.rows) == 8
    (number,) = (each.id for each in plain.labels_of([9]).pictures)
    plain.decide([Decision(number, "tag", "red", "accepted")], answering="six")
    plain.reviewer.wait()
    fit = plain.reviewer.fit
    assert (len(fit.tags.rows), len(fit.tags.others)) == (8, 1)
    plain.undo()
    plain.label(plain.gallery.page(sort="name").keys[8:10], tags=["red"])
    plain.reviewer.wait()
    assert len(plain.reviewer.fit.tags.rows) == 10


def test_what_was_decided_is_not_asked_again(photos):
    reviewer = photos.reviewer
    first = reviewer.questions("teach").questions[0]
    photos.label([first.key], class_name="forest", tags=["sky"])
    assert first.id not in numbers(reviewer.questions("teach", limit=100))  # at once, before the heads have learned
    name = reviewer.state().tags[0].name
    asked = reviewer.questions("tag", tag=name).questions[0]
    photos.label([asked.key], no_tags=[name])
    assert asked.id not in numbers(reviewer.questions("tag", tag=name, limit=100))
    photos.undo()
    assert asked.id in numbers(reviewer.questions("tag", tag=name, limit=100))


def test_denied_tags_teach_though_nobody_tagged_the_pictures(photos):
    reviewer = photos.reviewer
    name = reviewer.state().tags[0].name
    reviewer.wait()
    plain, ids = reviewer._fit, photos.views.newest().ids
    untagged = ids[np.diff(plain.collection.truth.tags[photos.views.newest().rows].indptr) == 0]
    photos.label([key_of(photos, int(number)) for number in untagged[::2]], no_tags=[name])
    reviewer.state()
    reviewer.wait()
    taught, others = reviewer._fit, np.isin(ids[plain.places], untagged[1::2])
    before, after = (fit.tags.p[others, fit.tag_names.index(name)].mean() for fit in (plain, taught))
    assert taught is not plain
    assert after < 0.9 * before
    assert taught.tags.rows.tolist() == plain.tags.rows.tolist(), "they stay untagged"


def test_none_of_these_denies_what_was_shown_in_one_step(photos):
    reviewer = photos.reviewer
    before = reviewer.state()
    first = reviewer.questions("teach").questions[0]

    def offered(kind):
        found = [one for one in reviewer.questions("teach", limit=100).questions if one.id == first.id]
        return [option.name for one in found for option in one.labels if option.kind == kind]

    shown, tags = offered("class"), offered("tag")
    assert len(shown) == len(tags) == 9
    photos.decide([Decision(first.id, "class", name, "rejected") for name in shown])
    assert not set(offered("class")) & set(shown)
    assert offered("tag") == tags
    (known,) = photos.labels_of([first.id]).pictures
    assert (known.class_, known.suggested_class) == (None, None)
    rest = {name for name in photos.views.newest().class_names if name not in shown}
    photos.decide([Decision(first.id, "class", name, "rejected") for name in rest])
    photos.label([first.key], tags=["sky"])
    assert first.id not in numbers(reviewer.questions("teach", limit=100))  # there is nothing left to ask
    after = reviewer.state()
    assert (after.teach, after.unlabelled) == (before.teach - 1, before.unlabelled)
    for _ in range(3):
        photos.undo()
    assert offered("class") == shown


def test_measuring_questions_come_in_order_among_those_that_teach(photos, monkeypatch):
    monkeypatch.setattr(asking, "_SETTLED", 1)  # one question in ten from the start
    monkeypatch.setattr(asking, "_EVERY", 5)
    reviewer = photos.reviewer
    first = reviewer.questions("measure", limit=100)
    asked = reviewer.questions("teach", limit=10)
    others = [number for number in numbers(asked) if number not in asked.measuring]
    assert asked.measuring == [number for number in numbers(first) if number not in others][:2]
    assert [numbers(asked).index(number) for number in asked.measuring] == [4, 9]
    assert set(numbers(first)) == set(first.measuring)
    later = reviewer.questions("teach", without=numbers(asked), limit=10)
    assert not set(numbers(asked)) & set(numbers(later))
    assert len(later.measuring) <= 2, "what waits for an answer counts"


def test_measuring_questions_ask_for_what_either_sample_lacks(photos):
    view, asked = photos.views.newest(), photos.reviewer.questions("measure", limit=100)
    no_class = {int(view.ids[row]) for row in np.flatnonzero(view.classes < 0)}
    truth = photos.collection().truth
    tested = {int(number) for number, split in zip(truth.ids, truth.splits, strict=True) if split == "test"}
    incomplete = set(truth.ids[truth.extent == Extent.PART].tolist())
    assert set(numbers(asked)) == (no_class | incomplete) - tested
    order = [int(truth.ids[row]) for row in photos.collection().frame.in_measuring_order]
    assert numbers(asked) == [number for number in order if number in set(numbers(asked))]
    photos.reviewer.skip(numbers(asked)[0])
    assert numbers(photos.reviewer.questions("measure", limit=100)) == numbers(asked)[1:]


def test_what_measures_does_not_change_what_is_asked(photos):
    reviewer = photos.reviewer
    reviewer.wait()
    before = reviewer._fit
    (number,) = numbers(reviewer.questions("measure", limit=1))
    photos.label(key_of(photos, number), class_name="forest", answering="measure")
    reviewer.wait()
    measured = reviewer._fit
    assert measured is not before
    assert not np.allclose(measured.classes.p, before.classes.p)
    assert np.allclose(measured.doubt, before.doubt, atol=1e-6)
    photos.undo()
    photos.label(key_of(photos, number), class_name="forest", answering="teach")
    reviewer.wait()
    assert not np.allclose(reviewer._fit.doubt, before.doubt, atol=1e-6)


def test_pictures_like_those_just_answered_wait(photos, monkeypatch):
    reviewer = photos.reviewer
    reviewer.wait()
    assert reviewer.fit.recent == []
    ids = numbers(reviewer.questions("teach", limit=8))
    for number, queue in zip(ids[:3], ("teach", "measure", "teach"), strict=True):
        photos.label([key_of(photos, number)], class_name="forest", answering=queue)
        reviewer.wait()
    assert reviewer.fit.recent == [ids[0], ids[2]], "in their order, without what measured"
    settled = []
    chosen = queues.choose_questions
    monkeypatch.setattr(queues, "choose_questions", lambda *a, **k: settled.append(k["settled"]) or chosen(*a, **k))
    reviewer.questions("teach", without=[ids[4]])
    fit, view = reviewer.fit, photos.views.newest()
    assert {int(view.ids[fit.places[row]]) for row in settled[0]} == {ids[0], ids[2], ids[4]}, "nor what is being asked"
    photos.undo()
    reviewer.wait()
    assert reviewer.fit.recent == [ids[0]]


def test_heads_learn_in_the_background(photos, monkeypatch):
    reviewer = photos.reviewer
    before = reviewer.state()
    go_on, learned = threading.Event(), reviewer._learn

    def slow():
        go_on.wait(20)
        learned()

    monkeypatch.setattr(reviewer, "_learn", slow)
    first = reviewer.questions("teach").questions[0]
    photos.label([first.key], class_name="forest")
    during = reviewer.state()  # nobody waits
    assert during.learning
    assert during.fitted_changes == before.fitted_changes
    assert during.labelled == before.labelled + 1
    go_on.set()
    reviewer.wait()
    after = reviewer.state()
    assert after.fitted_changes > before.fitted_changes
    assert after.curve[-1].labels == before.labelled + 1
    assert Reviewer(photos)._curve.portions == reviewer._curve.portions  # kept for the next start


def test_swapped_labels_are_found(photos):
    truth = photos.collection().truth
    known = {
        c: [int(n) for n, own in zip(truth.ids, truth.classes, strict=True) if own == c] for c in ("forest", "winter")
    }
    wrong = {known["forest"][0]: ("forest", "street"), known["winter"][0]: ("winter", "village")}
    for number, (_, said) in wrong.items():
        photos.label([key_of(photos, number)], class_name=said)
    found = {each.id: each for each in photos.reviewer.questions("errors", limit=100).questions}
    assert set(wrong) <= set(found)
    for number, (right, said) in wrong.items():
        assert (found[number].said, found[number].asked.name, found[number].asked.kind) == (said, right, "class")
        assert found[number].asked.probability >= 0.6
    kept, put_right = wrong
    photos.reviewer.keep(kept, "class", wrong[kept][1])
    assert kept not in numbers(photos.reviewer.questions("errors", limit=100))
    assert kept not in numbers(Reviewer(photos).questions("errors", limit=100))  # also after the next start
    photos.label([key_of(photos, put_right)], class_name=wrong[put_right][0])
    assert put_right not in numbers(photos.reviewer.questions("errors", limit=100))
    photos.reviewer.wait()
    assert put_right not in numbers(photos.reviewer.questions("errors", limit=100))


def test_groups_contain_every_unlabelled_picture_once(kept):
    view = kept.views.newest()
    found = kept.reviewer.groups(limit=60)
    inside = [number for each in found.groups for number in each.pictures.ids]
    assert sorted(inside) == sorted(int(n) for n, said in zip(view.ids, view.said, strict=True) if said == 0)
    assert found.pictures == len(inside)
    assert [each.size for each in found.groups] == [len(each.pictures.keys) for each in found.groups]
    assert all(set(each.outliers) < set(each.pictures.ids) for each in found.groups if each.size > 1)
    assert len(kept.reviewer.groups(limit=1).groups) == 1


def test_damaged_files_of_a_review_are_begun_again(photos):
    for name in ("review.json", "review-kept.json"):
        (photos.state / name).write_text("[[1, 2], {")
    assert photos.reviewer.state().ready


# Collections with few labels


@pytest.fixture
def plain(tmp_path):
    """Twelve pictures of two colours in a folder, without labels, with features."""
    folder = tmp_path / "photos"
    (folder / "p").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for i in range(12):
        pixels = np.clip([[200, 40, 40], [40, 40, 200]][i % 2] + rng.normal(0, 30, (24, 24, 3)), 0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / "p" / f"{i:02}.png")
    with Workspace.create(folder) as photos:
        photos.add(look_for_labels=False)
        yield photos


def test_a_cold_collection_begins_with_groups(plain):
    waiting = plain.reviewer.state()
    assert not waiting.ready
    assert "looked at" in waiting.problem
    with pytest.raises(InputError, match="looked at"):
        plain.reviewer.questions("teach")
    plain.features("deep")
    state = plain.reviewer.state()
    assert (state.ready, state.cold, state.teach, state.errors, state.tags, state.curve) == (True, True, 12, 0, [], [])
    assert state.expected is None
    assert numbers(plain.reviewer.questions("teach")) == []
    assert sum(each.size for each in plain.reviewer.groups().groups) == 12
    # one class is no choice
    keys = plain.gallery.page(sort="name").keys
    plain.label(keys[0:8:2], class_name="red", new=True)
    plain.reviewer.wait()
    assert plain.reviewer.state().cold
    plain.label(keys[1:8:2], class_name="blue", new=True)
    plain.reviewer.wait()
    state = plain.reviewer.state()
    assert (state.cold, state.kind, state.teach, state.curve[-1].quality) == (False, "class", 4, 1.0)
    first = plain.reviewer.questions("teach").questions[0]
    assert first.labels[0].name == ("red" if (first.id - 1) % 2 == 0 else "blue")


def test_a_collection_with_tags_only_is_asked_about_tags(plain):
    plain.features("deep")
    keys = plain.gallery.page(sort="name").keys
    plain.label(keys[0:8:2], tags=["red"], new=True)
    plain.label(keys[1:8:2], tags=["blue"], new=True)
    state = plain.reviewer.state()
    assert (state.kind, state.cold, state.labelled, state.teach) == ("tag", False, 8, 4)
    asked = plain.reviewer.questions("teach", limit=4)
    assert {option.kind for each in asked.questions for option in each.labels} == {"tag"}


def test_what_ten_more_minutes_bring():
    once = expected(0.8, 0.7, 150)
    assert once == pytest.approx(0.8 + 0.1 * (1 - 0.5))
    assert expected(0.8, 0.9, 100) == pytest.approx(0.8)
    assert expected(1.0, 0.0, 1) == 1.0
