# One image for every part: `docker run foliot api`, `… scheduler`, `… worker`, `… migrate`.
#
# PYTHON_IMAGE is python:3.11-slim-bookworm by its digest, and has no default: a tag may mean another image tomorrow, and a
# digest that somebody made up would be worse than none. `make image` asks the registry for it, and so does `make deploy-env`.
ARG PYTHON_IMAGE

FROM ${PYTHON_IMAGE} AS build
ARG PYTHON_IMAGE
RUN case "${PYTHON_IMAGE}" in *python:3.11-slim-bookworm@sha256:????????????????????????????????????????????????????????????????) ;; \
      *) echo "PYTHON_IMAGE must be python:3.11-slim-bookworm@sha256:…, got '${PYTHON_IMAGE}': use make image" >&2; exit 1 ;; esac
WORKDIR /build
COPY deploy/image deploy/image
# What is installed is what constraints.txt names, file by file (make hashes); build-requirements.txt makes the wheel. The
# files name everything, so pip looks for nothing more; `pip check` sees below that nothing is missing.
# The environment gets no pip of its own: nothing is installed once the image is made.
RUN python -m venv --without-pip /opt/foliot \
 && python -m pip install --no-cache-dir --disable-pip-version-check --only-binary :all: \
      --no-deps --require-hashes --requirement deploy/image/build-requirements.txt \
 && python -m pip --python /opt/foliot/bin/python install --no-cache-dir --disable-pip-version-check --only-binary :all: \
      --no-deps --require-hashes --requirement deploy/image/requirements.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY ui ui
COPY src src
# A wheel without a dashboard fails in hatch_build.py; that it is where the server looks for it is seen here.
RUN python -m pip wheel --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir /wheels . \
 && python -m pip --python /opt/foliot/bin/python install --no-cache-dir --disable-pip-version-check --no-deps /wheels/foliot-*.whl \
 && test -s "$(/opt/foliot/bin/python -c 'import foliot.web as web; print(web.__path__[0])')/dist/index.html" \
 && python -m pip --python /opt/foliot/bin/python check

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="Foliot" \
      org.opencontainers.image.description="Fires web work at the right instant, exactly once" \
      org.opencontainers.image.licenses="MIT"
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/foliot --create-home --shell /usr/sbin/nologin foliot
COPY --from=build /opt/foliot /opt/foliot
COPY --chmod=755 deploy/image/foliot-health /usr/local/bin/foliot-health
ENV PATH=/opt/foliot/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    FOLIOT_HOME=/var/lib/foliot \
    FOLIOT_HEALTH_FILE=/tmp/foliot-health \
    LOG_FORMAT=json
# A number, so that Kubernetes can see that it is not root.
USER 10001
WORKDIR /var/lib/foliot
EXPOSE 8000
# Every part that stays keeps its health file fresh; no Python is started to look at it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["foliot-health", "ready"]
ENTRYPOINT ["foliot"]
CMD ["--help"]
