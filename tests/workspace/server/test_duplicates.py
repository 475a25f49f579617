"""Copies through the API."""

from __future__ import annotations


def test_groups_are_told_and_decided(client, photos):
    one, other = photos.collection().truth.ids[:2].tolist()
    empty = client.get("/api/v1/duplicates").json()
    assert (empty["groups"], empty["n_compared"]) == ([], 0)
    assert empty["n_new"] == len(photos.collection().truth)

    said = client.post("/api/v1/duplicates/judge", json={"ids": [one, other], "said": "same"}).json()
    assert said["pairs"] == {"same": 1}
    assert client.get("/api/v1/duplicates").json()["groups"] == []
    (group,) = client.get("/api/v1/duplicates", params={"decided": True}).json()["groups"]
    assert [member["picture"]["id"] for member in group["pictures"]] == [one, other]
    assert (group["level"], group["waits"], group["likeness"]) == ("picture", False, None)

    kept = client.post("/api/v1/duplicates/keep", json={"ids": [other]}).json()
    assert kept["kept"] == [other]
    (group,) = client.get("/api/v1/duplicates", params={"decided": True}).json()["groups"]
    assert (group["best"], group["why"]) == (other, "kept")
    assert client.post("/api/v1/duplicates/share", json={}).json()["dry_run"] is True
    client.post("/api/v1/undo", json={})
    client.post("/api/v1/undo", json={})
    assert client.get("/api/v1/duplicates", params={"decided": True}).json()["groups"] == []


def test_wrong_requests_are_refused(client):
    assert client.post("/api/v1/duplicates/judge", json={"ids": [1], "said": "same"}).status_code == 422
    assert client.post("/api/v1/duplicates/judge", json={"ids": [1, 2], "said": "perhaps"}).status_code == 422
