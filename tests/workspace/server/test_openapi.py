"""The OpenAPI document: every route has examples, and thousands of odd requests get only what it promises."""

from __future__ import annotations

import os
from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from visterm.faces.web.application import application
from visterm.faces.web.guard import LOOPBACK, Rules
from visterm.upkeep.jobs import Job, Jobs

TOKEN = "the-token-of-this-workspace"

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
#: Requests tried of each route.
EXAMPLES = int(os.environ.get("VISTERM_API_EXAMPLES", "4"))
STEADY = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def document(reading):
    return reading.get("/api/v1/openapi.json").json()


def routes(document):
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            yield path, method, route


def test_every_route_says_what_it_does_and_may_refuse(document):
    for path, method, route in routes(document):
        where = f"{method} {path}"
        assert route["summary"], where
        assert route["description"], where
        for status, answer in route["responses"].items():
            if int(status) >= 400:
                assert list(answer["content"]) == ["application/problem+json"], where
        assert {"200", "400", "401", "403", "422"} <= set(route["responses"]), where


def resolved(document, schema):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    return schema


def test_every_parameter_and_body_has_an_example(document):
    for path, method, route in routes(document):
        for parameter in route.get("parameters", []):
            schema = resolved(document, parameter["schema"])
            assert schema.get("examples"), f"{method} {path}: {parameter['name']}"
        for kind, body in route.get("requestBody", {"content": {}})["content"].items():
            if kind == "application/json":
                for name, member in resolved(document, body["schema"])["properties"].items():
                    known = member.get("examples") or "default" in member
                    assert known, f"{method} {path}: {name}"


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_gets_an_answer_that_is_not_documented(photos, monkeypatch, mode):
    monkeypatch.setattr(Jobs, "start", lambda self, kind, arguments=(): Job(1, kind, "Working", "running", 0.0))
    app = application(photos, Rules(frozenset({*LOOPBACK, "testserver"}), TOKEN, open_reading=True))
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    tried = Counter()

    def ask(case):
        if not case.operation.body:
            case.headers["Content-Type"] = "application/json"
        # All that an address holds is text, so only bodies can be of a wrong kind.
        case.headers["Authorization"] = f"Bearer {TOKEN}"
        answer = case.call()
        more = [negative_data_rejection] if case.operation.body and answer.status_code != 413 else []
        case.validate_response(answer, checks=[*CHECKS, *more])
        if case.operation.body and mode is GenerationMode.POSITIVE:
            assert answer.status_code != 422, answer.text
        tried[f"{case.operation.method} {case.operation.path}", answer.status_code] += 1

    for found in schema.get_all_operations():
        operation = found.ok()
        can_be_wrong = operation.body or next(operation.iter_parameters(), None) is not None
        if operation.path.endswith("/events") or (mode is GenerationMode.NEGATIVE and not can_be_wrong):
            continue  # the first never ends
        if mode is GenerationMode.NEGATIVE and operation.path.endswith("/look"):
            continue  # any bytes may be a picture
        STEADY(given(case=operation.as_strategy(mode))(ask))()
    assert len({route for route, _ in tried}) > 20
    if mode is GenerationMode.POSITIVE:
        assert sum(n for (_, status), n in tried.items() if status == 200) > 0.3 * tried.total()
