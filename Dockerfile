# Two images: `app` (web, workers, beat, one-time preparation) and `proxy` (nginx with the static files of the same version).
# Neither holds a secret, and nothing is downloaded once they are built.
FROM python:3.11-slim-bookworm AS build
# The builds of torch without CUDA, some GB smaller. Empty: what PyPI, or the index of pip's configuration, offers.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /app
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
COPY requirements.txt constraints.txt ./
RUN --mount=type=cache,target=/root/.cache/pip \
    PIP_EXTRA_INDEX_URL=$TORCH_INDEX pip install --disable-pip-version-check -r requirements.txt -c constraints.txt
COPY manage.py ./
COPY accounts accounts
COPY ingestion ingestion
COPY kb_platform kb_platform
COPY locale locale
COPY retrieval retrieval
COPY static static
COPY templates templates
# The settings want a data folder, which is left behind here.
RUN KB_DATA_DIR=/tmp/build KB_STATIC_DIR=/srv/zhiku/static python manage.py collectstatic --noinput --verbosity 0
RUN KB_DATA_DIR=/tmp/build python manage.py compile_translations
RUN python -m compileall -q accounts ingestion kb_platform retrieval

FROM nginx:1.28-alpine AS proxy
COPY --from=build /srv/zhiku/static /srv/zhiku/static
COPY kb_platform/deploy/nginx /etc/nginx/templates
ENV NGINX_ENVSUBST_FILTER=^KB_ KB_LISTEN=8080 KB_WEB=web:8000 KB_RESOLVER=127.0.0.11 KB_STATIC_ROOT=/srv/zhiku KB_MAX_UPLOAD_MB=100

FROM python:3.11-slim-bookworm AS app
# Optional: scans in Latin letters are read better and faster with it.
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends tesseract-ocr tesseract-ocr-eng && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --create-home zhiku && install -d -o zhiku -g zhiku -m 700 /data
COPY --from=build /opt/venv /opt/venv
COPY --from=build /srv/zhiku /srv/zhiku
COPY --from=build /app /app
COPY LICENSE NOTICE /app/
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 \
    KB_DATA_DIR=/data KB_STATIC_DIR=/srv/zhiku/static KB_HOST=0.0.0.0 KB_PORT=8000
WORKDIR /app
USER zhiku
VOLUME /data
EXPOSE 8000
# No proxy of the environment, and a host name that is always allowed.
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=8); c.request('GET', '/readyz'); raise SystemExit(c.getresponse().status != 200)"]
CMD ["python", "manage.py", "web"]
