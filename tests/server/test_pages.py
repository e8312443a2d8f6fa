"""The dashboard's page, its files and its deep links; the plain page while it is not built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from running_service import NewService, Service

from hybrid_scheduler.server.routes import pages
from hybrid_scheduler.server.security import CONTENT_SECURITY_POLICY

HTML = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}


@pytest.fixture
def unbuilt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, new_service: NewService) -> Service:
    monkeypatch.setattr(pages, "STATIC", tmp_path / "nothing")
    return new_service()


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, new_service: NewService) -> Service:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><title>dashboard</title>")
    (static / "docs.html").write_text("<!doctype html><title>API</title>")
    (static / "favicon.svg").write_text("<svg/>")
    (static / "assets" / "index-abc.js").write_text("let a = 1;")
    (static / "assets" / "index-abc.css").write_text("a {}")
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setattr(pages, "STATIC", static)
    return new_service()


def test_browsers_get_the_plain_page_until_the_dashboard_is_built(unbuilt: Service) -> None:
    page = unbuilt.client.get("/", headers=HTML)
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "live race" in page.text
    script = unbuilt.client.get("/plain.js")
    assert script.status_code == 200
    assert "javascript" in script.headers["content-type"]
    assert unbuilt.client.get("/assets/none.js").status_code == 404


def test_the_plain_page_needs_nothing_from_elsewhere_and_no_inline_script() -> None:
    page = (pages.PLAIN / "index.html").read_text()
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    assert re.findall(r"<script[^>]*>", page) == ['<script src="/plain.js" defer>']
    assert not re.search(r"\son\w+=", page)


def test_browsers_get_the_dashboard_once_it_is_built(built: Service) -> None:
    page = built.client.get("/", headers=HTML)
    assert "dashboard" in page.text
    assert page.headers["Cache-Control"] == "no-cache"
    assert "Accept" in page.headers["Vary"]
    assert built.client.get("/").json()["status"] == "online"
    assert built.client.head("/", headers=HTML).status_code == 200


def test_the_api_page_has_an_address_of_its_own_and_no_other_policy(built: Service) -> None:
    page = built.client.get("/docs")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<title>API</title>" in page.text
    assert page.headers["Cache-Control"] == "no-cache"
    assert page.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert built.client.head("/docs").status_code == 200


def test_without_the_api_page_the_answer_says_how_to_get_it(unbuilt: Service) -> None:
    answer = unbuilt.client.get("/docs", headers=HTML)
    assert answer.status_code == 404
    assert "/api/openapi.json" in answer.json()["error"]["message"]


def test_deep_links_lead_to_the_dashboard(built: Service) -> None:
    for path in ("/scheduler/rl_agent", "/history", "/experiments", "/a/b/c"):
        assert "dashboard" in built.client.get(path, headers=HTML).text
        assert built.client.get(path).status_code == 404
    for path in ("/api/none", "/api", "/assets/none.js"):
        assert built.client.get(path, headers=HTML).status_code == 404, path
    assert built.client.post("/history", headers=HTML).status_code == 404


def test_built_files_are_kept_by_browsers_and_have_their_types(built: Service) -> None:
    for name, kind in (("index-abc.js", "text/javascript"), ("index-abc.css", "text/css")):
        answer = built.client.get(f"/assets/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(kind)
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert built.client.get("/favicon.svg").headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/..%2f..%2fsecret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/assets/",
        "/assets",
        "/assets/%00",
        "/secret.txt",
    ],
)
def test_no_path_leads_out_of_the_folder(built: Service, path: str) -> None:
    answer = built.client.get(path)
    assert answer.status_code in (404, 405)
    assert "secret" not in answer.text
