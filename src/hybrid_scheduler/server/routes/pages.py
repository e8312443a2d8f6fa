"""The dashboard: its page at `/` and at its deep links, its files, and a plain page until it is built; the API page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from hybrid_scheduler.server.errors import ApiError, http_error
from hybrid_scheduler.server.openapi import content
from hybrid_scheduler.server.schemas import Online

router = APIRouter(tags=["dashboard"])

STATIC = Path(__file__).parent.parent / "static"
"""The built dashboard; absent until it is built."""
PLAIN = Path(__file__).parent.parent / "plain"
"""A page without anything to build that shows the live race."""
UNCHANGING = "public, max-age=31536000, immutable"
"""The names of built files hold a hash of what is in them."""
ASK_AGAIN = "no-cache"
METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")


@router.get(
    "/",
    response_model=Online,
    responses=content("Online, or the dashboard.", "text/html"),
    summary="The dashboard",
)
async def root(request: Request, response: Response) -> Any:
    """The dashboard for browsers (`Accept: text/html`), a word that the service is there for programs."""
    if wants_html(request):
        return index_page()
    response.headers["Vary"] = "Accept"
    return Online()


@router.head("/", include_in_schema=False)
async def root_head(request: Request) -> Response:
    """As `GET /`, less the body."""
    return index_page() if wants_html(request) else Response(media_type="application/json")


@router.api_route("/docs", methods=["GET", "HEAD"], include_in_schema=False)
async def api_page() -> Response:
    """Every call of the API, to read and to try; built together with the dashboard."""
    built = STATIC / "docs.html"
    if not built.is_file():
        raise ApiError(
            404,
            "the API page is not built: it comes with the dashboard, by 'npm --prefix dashboard ci' and "
            "'npm --prefix dashboard run build'; /api/openapi.json describes the API to programs",
        )
    return FileResponse(built, media_type="text/html", headers={"Cache-Control": ASK_AGAIN})


class AssetFiles(StaticFiles):
    """Files of the dashboard, for browsers to keep."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC / "assets", check_dir=False)

    async def check_config(self) -> None:
        """Where the dashboard is not built there are no files; the base class would call it a mistake in the set-up."""
        if not (STATIC / "assets").is_dir():
            raise HTTPException(404)
        await super().check_config()

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = UNCHANGING
        return response


def wants_html(request: Request) -> bool:
    """Whether a person with a browser is asking."""
    return "text/html" in request.headers.get("accept", "")


def index_page() -> Response:
    """The page of the dashboard, or the plain one."""
    built = STATIC / "index.html"
    page = built if built.is_file() else PLAIN / "index.html"
    return FileResponse(page, media_type="text/html", headers={"Cache-Control": ASK_AGAIN, "Vary": "Accept"})


async def not_routed(request: Request, error: Exception) -> Response:
    """What no route answers: files beside the page, deep links into the dashboard, and errors."""
    assert isinstance(error, HTTPException)
    path = request.url.path
    reads = request.method in ("GET", "HEAD") and error.status_code == 404
    if reads and path != "/api" and not path.startswith(("/api/", "/assets/", "/ws")):
        for folder in (STATIC, PLAIN):
            # Compared with what is there, so that no path can lead anywhere else.
            names = {file.name: file for file in folder.iterdir() if file.is_file()} if folder.is_dir() else {}
            if path[1:] in names:
                return FileResponse(names[path[1:]], headers={"Cache-Control": ASK_AGAIN})
        if wants_html(request):
            return index_page()
    if error.status_code == 405 and (methods := _methods(request)):
        error.headers = {"Allow": ", ".join(methods)}
    return http_error(error)


def _methods(request: Request) -> list[str]:
    """What an address takes: the framework itself names the methods of one of its routes only."""
    routes = [route for route in request.app.routes if not isinstance(route, Mount)]
    scopes = {method: {**request.scope, "method": method} for method in METHODS}
    return [method for method in METHODS if any(route.matches(scopes[method])[0] is Match.FULL for route in routes)]
