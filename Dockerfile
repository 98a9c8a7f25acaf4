# Plimsoll's image, and that of the demo's tasks.
#   docker build -t plimsoll .                       the operator: plimsoll <command>
#   docker build -t plimsoll-demo --target demo .    the two tasks of `make demo`
# docker and buildah build it alike. Everything is pinned: the base by its digest (how it is renewed:
# docs/adr/0012-image.md), every package by hash. Where no registry is reached, BASE is any Debian 12
# with python3, python3-venv and `python`.
# The secrets are optional: `pip` is a pip.conf for a package index of your own, `ca` the
# certificates to trust while packages are fetched. Neither stays in the image. What the labels say
# of a release is given to its build:
#   --build-arg REVISION=$(git rev-parse HEAD) --build-arg CREATED=$(date -u +%FT%TZ) --build-arg SOURCE=URL
ARG BASE=python:3.11-slim-bookworm@sha256:0bee7276f83efd4a1ee05bbbf4281d95ed28e079220a9457f25a93e3f1e3c31b

FROM ${BASE} AS tools
# pip works from here on another environment, and so is not in it.
RUN python -m venv /tools

FROM tools AS wheel
WORKDIR /src
COPY requirements/build.lock requirements/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca \
    /tools/bin/pip install --no-cache-dir --require-hashes -r requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY operator operator
COPY predictor predictor
RUN /tools/bin/pip wheel --no-cache-dir --no-index --no-deps --no-build-isolation \
        --wheel-dir /wheels .

FROM tools AS dependencies
WORKDIR /src
COPY requirements/runtime.lock requirements/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca \
    python -m venv --without-pip /opt/plimsoll \
    && /tools/bin/pip --python /opt/plimsoll/bin/python install --no-cache-dir --no-compile \
        --require-hashes -r requirements/runtime.lock
COPY deploy/image/slim_packages.sh deploy/image/
# Compiled here, because at run time nothing can be written; valid whatever a file's time is.
RUN sh deploy/image/slim_packages.sh /opt/plimsoll \
    && python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/plimsoll/lib

FROM dependencies AS build
COPY --from=wheel /wheels /wheels
# Apart from its dependencies: a change of ours is a small layer.
RUN /tools/bin/pip --python /opt/plimsoll/bin/python install --no-cache-dir --no-compile \
        --no-index --no-deps --prefix /own /wheels/*.whl \
    && python -m compileall -q --invalidation-mode unchecked-hash -s /own -p /opt/plimsoll \
        /own/lib

FROM ${BASE} AS root
COPY deploy/image/slim_root.sh /slim_root.sh
RUN sh /slim_root.sh && rm /slim_root.sh

FROM tools AS demo-build
WORKDIR /src
COPY requirements/demo.lock requirements/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca \
    python -m venv --without-pip /opt/demo \
    && /tools/bin/pip --python /opt/demo/bin/python install --no-cache-dir \
        --require-hashes -r requirements/demo.lock

FROM ${BASE} AS demo
COPY --from=demo-build /opt/demo /opt/demo
COPY demo/tasks/*.py /tasks/
ENV PATH=/opt/demo/bin:$PATH PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /tasks

# From nothing, so that what was taken out of the base is in no layer.
FROM scratch AS plimsoll
COPY --from=root / /
COPY --from=dependencies /opt/plimsoll /opt/plimsoll
COPY --from=build /own /opt/plimsoll
ENV PATH=/opt/plimsoll/bin:/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
# Not `plimsoll` itself: -P keeps the working folder out of what is imported.
ENTRYPOINT ["python", "-P", "-m", "plimsoll_operator"]
CMD ["--help"]
ARG VERSION=0.1.0
ARG REVISION=
ARG CREATED=
ARG SOURCE=
LABEL org.opencontainers.image.title="Plimsoll" \
      org.opencontainers.image.description="Right-sizes batch and ML tasks on Kubernetes: predicts a memory bin, heals OOM kills, learns from each." \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.licenses="Apache-2.0"
