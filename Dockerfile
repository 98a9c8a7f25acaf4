# syntax=docker/dockerfile:1
# Plimsoll's image, and that of the demo's tasks.
#   docker build -t plimsoll .                       the operator: plimsoll <command>
#   docker build -t plimsoll-demo --target demo .    the two tasks of `make demo`
# Where no registry is reached, BASE is any Debian 12 with python3, python3-venv and `python`.
# The secrets are optional: `pip` is a pip.conf for a package index of your own, `ca` the
# certificates to trust while packages are fetched. Neither stays in the image.
ARG BASE=python:3.11-slim-bookworm

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
    && /tools/bin/pip --python /opt/plimsoll/bin/python install --no-cache-dir \
        --require-hashes -r requirements/runtime.lock

FROM dependencies AS build
COPY --from=wheel /wheels /wheels
# Apart from its dependencies: a change of ours is a small layer.
RUN /tools/bin/pip --python /opt/plimsoll/bin/python install --no-cache-dir --no-index \
        --no-deps --prefix /own /wheels/*.whl

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

FROM ${BASE} AS plimsoll
COPY --from=dependencies /opt/plimsoll /opt/plimsoll
COPY --from=build /own /opt/plimsoll
ENV PATH=/opt/plimsoll/bin:$PATH PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["python", "-P", "-m", "plimsoll_operator"]
