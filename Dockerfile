# syntax=docker/dockerfile:1
# The service with everything it needs but PostgreSQL and Redis, which are optional. GPUs are simulated: none is needed, and none is used.

# The dashboard; its build lands in /src/hybrid_scheduler/server/static, where the package looks for it.
FROM node:22.20-bookworm-slim AS dashboard
WORKDIR /dashboard
COPY dashboard/package.json dashboard/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY dashboard/ ./
RUN npm run build

# The virtual environment, with the CPU build of PyTorch, which pip must see first.
FROM python:3.11-slim-bookworm AS environment
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/hms
ENV PATH=/opt/hms/bin:$PATH
RUN pip install --index-url https://download.pytorch.org/whl/cpu torch==2.13.0
WORKDIR /build
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src/ src/
COPY --from=dashboard /src/hybrid_scheduler/server/static/ src/hybrid_scheduler/server/static/
# This project itself, from the folder: there is no version to pin.
# hadolint ignore=DL3013
RUN pip install .
# Layers keep whole seconds only. Compiled code is looked up by the times of its sources, so these must survive the trip.
RUN find /opt/hms/lib -name '*.py' -exec touch --date=@1750000000 {} + \
    && python -m compileall -q /opt/hms/lib

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="Hybrid ML Scheduler" \
      org.opencontainers.image.licenses="MIT"
RUN useradd --system --uid 10001 --create-home --home-dir /srv/hms hms \
    && mkdir -p /srv/hms/data /srv/hms/models /srv/hms/compiled \
    && chown -R hms:hms /srv/hms
COPY --from=environment /opt/hms /opt/hms
ENV PATH=/opt/hms/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OMP_NUM_THREADS=1 \
    NUMBA_CACHE_DIR=/srv/hms/compiled \
    ENVIRONMENT=production \
    LOG_FILE=
WORKDIR /srv/hms
USER 10001
# Compiled here, so that the first start of a container does not wait for the compiler.
RUN python -m hybrid_scheduler.live.warm
VOLUME ["/srv/hms/data", "/srv/hms/models"]
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/api/health', timeout=4)"]
# In production the service refuses to listen beyond this container without API_TOKEN.
CMD ["hms", "serve", "--host", "0.0.0.0", "--port", "8000"]
