# One image for every part: `docker run foliot api`, `… scheduler`, `… worker`, `… migrate`.

FROM python:3.11-slim-bookworm AS build
WORKDIR /build
COPY pyproject.toml constraints.txt hatch_build.py README.md LICENSE ./
COPY ui ui
COPY src src
# The environment gets no pip of its own: nothing is installed once the image is made.
RUN python -m venv --without-pip /opt/foliot \
 && python -m pip --python /opt/foliot/bin/python install --no-cache-dir --disable-pip-version-check \
      --constraint constraints.txt '.[postgres,cluster,discord]'

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="Foliot" \
      org.opencontainers.image.description="Fires web work at the right instant, exactly once" \
      org.opencontainers.image.licenses="MIT"
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/foliot --create-home --shell /usr/sbin/nologin foliot
COPY --from=build /opt/foliot /opt/foliot
ENV PATH=/opt/foliot/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    FOLIOT_HOME=/var/lib/foliot \
    LOG_FORMAT=json
# A number, so that Kubernetes can see that it is not root.
USER 10001
WORKDIR /var/lib/foliot
EXPOSE 8000
# For the parts that answer HTTP (`up`, `api`); the others say how they are checked where they are started.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["python", "-c", "import http.client, os, sys; api = http.client.HTTPConnection('127.0.0.1', int(os.environ.get('FOLIOT_PORT') or 8000), timeout=4); api.request('GET', '/health'); sys.exit(api.getresponse().status != 200)"]
ENTRYPOINT ["foliot"]
CMD ["--help"]
