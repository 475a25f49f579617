"""The routes of new words: what they answer is what the workspace says."""

from __future__ import annotations

API = "/api/v1"


def test_the_routes_answer_with_the_documents_of_the_workspace(reading, kept):
    assert reading.get(f"{API}/review/words").json() == kept.suggested_words().to_dict()
    asked = reading.get(f"{API}/review/word", params={"word": "yacht", "without": "1,2", "limit": 7})
    assert asked.json() == kept.new_words.questions("yacht", without=[1, 2], limit=7).to_dict()
    assert len(asked.json()["questions"]) == 7


def test_odd_words_are_refused(reading):
    for word, status in (("", 422), ("x" * 1001, 422), ("a\x00b", 400), ("   ", 400)):
        assert reading.get(f"{API}/review/word", params={"word": word}).status_code == status, word
    assert reading.get(f"{API}/review/word", params={"word": "<b>boat</b>"}).json()["word"] == "<b>boat</b>"


def test_a_declined_word_is_kept_until_that_is_taken_back(photos, serving):
    client = serving(photos)
    assert client.post(f"{API}/review/words/decline", json={"word": "castle"}).json() == {"declined": ["castle"]}
    back = client.post(f"{API}/review/words/decline", json={"word": "castle", "decline": False})
    assert back.json() == {"declined": []}
    assert client.post(f"{API}/review/words/decline", json={"word": 3}).status_code == 422
