# `make help` lists the targets. `make demo` and `make test` set up all they need.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CLUSTER := $(PYTHON) deploy/local/cluster.py
INSIDE := $(CLUSTER) enter
CONTEXT ?=
TRACES ?= ../shared/traces
MUTANTS ?=
WHOLE ?=
# One more than CI has processors: some tests wait for others.
WORKERS ?= 3
# Imports are most of a short process: let Python keep what it compiled. Pip would compile all.
unexport PYTHONDONTWRITEBYTECODE
LEFT_OUT ?= --leave-one-out --kept .local/sizes-left-out.json
SOURCES := operator predictor tests benchmarks demo deploy

.PHONY: help python setup demo demo-campaign demo-placing test check bench bench-sizes bench-thesis bench-sap bench-shifts bench-budgets bench-forecast bench-live bench-rescue bench-placing bench-placing-nodes bench-campaigns bench-campaigns-node bench-scheduling bench-spark-node bench-split bench-split-node bench-scale bench-watch bench-trainings clean format lint types layers test-unit compat test-traces test-tracking test-monitoring test-cluster test-browser test-apiserver test-controller test-e2e test-running test-learning test-image test-campaigns test-split test-engines test-airflow test-next-pods test-kueue test-argo test-spark test-placing test-local test-harm test-chart test-ha test-turns mutants format-check lock cluster-up cluster-down image image-built runtimes browser postgresql prometheus generated test-unit-full test-doctests soak bench-alone bench-saturated test-rendered test-followed soak-cluster fetched airflow kueue argo spark

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1|/' | column -t -s '|'

setup: $(VENV)/.ready ## .venv with the plimsoll command and every development tool, pinned by hash

python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "make setup: Python 3.11 or newer is needed; " + sys.executable + " is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12 setup")'
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "make setup: Python cannot make virtual environments; as root: apt-get install python3-venv" >&2; exit 2; }

$(VENV)/.ready: requirements/dev.lock pyproject.toml | python
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --require-hashes -r requirements/dev.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## the whole story on a real Kubernetes: sized, OOM-killed, lifted, retried, learned from (CONTEXT=name for a cluster of yours, CHART=1 for the chart's pods)
	$(BIN)/python -P demo/run.py $(if $(CONTEXT),--context $(CONTEXT)) $(if $(CHART),--chart)

demo-campaign: setup ## a campaign of 24 scenarios on a real Kubernetes, production runs that it sizes, and its page (CONTEXT=name for a cluster of yours)
	$(BIN)/python -P demo/run.py --campaign $(if $(CONTEXT),--context $(CONTEXT))

demo-placing: setup ## pods that compute and pods that wait on two real nodes: who slows whom is learned, then the same queue as usual and in Plimsoll's order; demo-placing.html
	$(BIN)/python -P demo/placing.py

test: python postgresql prometheus browser ## everything CI runs: check, and all the tests, side by side on clusters of their own
	setpriv --pdeathsig TERM $(PYTHON) -S -m tests.suites

check: setup format-check lint types layers test-doctests test-unit-full ## the checks, doctests and unit tests

# What the tests of a file share, such as a trained model, is made once: a file stays in one process.
# The slowest are listed, because a test that becomes slow costs everybody time.
UNIT = $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --durations=20 --durations-min=1 tests/predictor tests/operator tests/docs

# Those that compute are left out.
test-unit: WORKERS = 4
test-unit: setup postgresql ## the inner loop: nine of ten unit tests, those that take less than a tenth of a second, with a tenth of the examples
	$(UNIT) -m "not slow" --hypothesis-profile quick

test-unit-full: setup postgresql ## all unit tests, the slow ones among them, with all examples
	$(UNIT)

# Python's oldest, for the lowest versions: newer ones have no wheels of them.
RESOLUTION ?= lowest-direct
WITH ?= $(PYTHON)
OTHER = .local/compat-$(RESOLUTION)

compat: python setup postgresql ## the quick unit tests with the lowest versions that pyproject.toml allows, or with the newest (make compat RESOLUTION=highest WITH=python3.13)
	$(BIN)/pip install --quiet uv
	$(WITH) -m venv --clear --without-pip $(OTHER)
	$(BIN)/uv pip compile --quiet --resolution $(RESOLUTION) --python $(OTHER)/bin/python --all-extras pyproject.toml -o $(OTHER)/versions.txt
	$(BIN)/uv pip install --quiet --python $(OTHER)/bin/python --editable . -r $(OTHER)/versions.txt --group dev
	$(OTHER)/bin/pytest --numprocesses $(WORKERS) --dist loadfile -m "not slow" --hypothesis-profile quick tests/predictor tests/operator

# Of the modules that have some: to import all of them takes ten times as long as to run these.
test-doctests: setup ## the examples in docstrings
	$(BIN)/pytest --doctest-modules $$(grep -rl --include='*.py' '^ *>>> ' operator predictor)

soak: setup postgresql ## unit tests with ten times the examples and the kills at random; public logs to their end
	$(UNIT) --hypothesis-profile soak --rounds 40
	@$(MAKE) --no-print-directory test-traces WHOLE=--whole

test-traces: setup ## policies on the public traces, where they are (TRACES=folder of yours)
	@if [ -d "$(TRACES)" ]; then set -x; TRACES="$(TRACES)" $(BIN)/pytest tests/public_traces $(WHOLE); else echo "NOT RUN: no folder $(TRACES); the public traces are no part of the project (docs/replay.md)"; fi

test-tracking: setup ## trainings logged to a real MLflow server
	$(BIN)/pytest tests/tracking

test-monitoring: setup prometheus ## alerts, dashboard and imports against a real Prometheus
	$(BIN)/pytest tests/monitoring

# Debian starts the services of what it installs, unless a policy-rc.d says no; ours run for a test only.
INSTALL := DEBIAN_FRONTEND=noninteractive apt-get install -q --yes --no-install-recommends

postgresql:
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { apt-get update -q && $(INSTALL) postgresql; } || { echo "make test: no PostgreSQL; as root: apt-get install postgresql" >&2; exit 2; }

prometheus:
	@command -v promtool >/dev/null || { apt-get update -q && $(INSTALL) prometheus; } || { echo "make test: no Prometheus; as root: apt-get install prometheus" >&2; exit 2; }

browser:
	@command -v chromium >/dev/null || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q --yes --no-install-recommends chromium; } || { echo "make test: no chromium for the report's tests; as root: apt-get install chromium" >&2; exit 2; }

test-browser: setup browser ## the pages in a real browser, no cluster
	$(BIN)/pytest tests/browser

test-cluster: test-browser test-apiserver test-controller test-e2e test-running test-learning test-image test-campaigns test-split test-harm test-local ## pages, and tests on the real API server and node

test-apiserver: setup cluster-up ## kinds, rights, people and leadership on the real API server
	$(INSIDE) $(BIN)/pytest tests/apiserver

test-controller: setup cluster-up ## the controller's loop on the real API server
	$(INSIDE) $(BIN)/pytest tests/controller

LEARNING := tests/e2e/learning
RUNNING := tests/e2e/outages tests/e2e/running_pods

test-e2e: setup cluster-up prometheus ## pods of all kinds on the real node: sized, queued, healed, seen
	$(INSIDE) $(BIN)/pytest tests/e2e $(addprefix --ignore=,$(LEARNING) $(RUNNING))

test-running: setup cluster-up ## what happens while pods run on the real node: rescued, memory lent, programs killed
	$(INSIDE) $(BIN)/pytest $(RUNNING)

test-learning: setup cluster-up ## what is measured of pods on the real node, and learned from them
	$(INSIDE) $(BIN)/pytest $(LEARNING)

test-image: setup image ## the image on the real node
	$(INSIDE) $(BIN)/pytest tests/image

test-campaigns: setup cluster-up ## profiling campaigns on the real node: scenarios run, lifted, learned, refused
	$(INSIDE) $(BIN)/pytest tests/campaigns

test-split: setup cluster-up ## Jobs whose pods lease their items on the real node: killed at random, and short of memory
	$(INSIDE) $(BIN)/pytest tests/split

test-harm: setup cluster-up runtimes ## runs in pairs on the real node, without Plimsoll and with it, and harm.json
	$(INSIDE) $(BIN)/pytest --capture=no tests/harm

runtimes: setup
	@$(BIN)/python -m tests.rigs.images.runtimes_image

airflow: setup
	@$(BIN)/python -m tests.rigs.servers.locked_environments airflow

test-airflow: cluster-up airflow ## a real Airflow beside the cluster: tasks with too little memory healed, its past imported (LARGE=7,8,9: which of ten tasks need more than they have)
	$(INSIDE) $(BIN)/pytest --capture=no tests/airflow $(if $(LARGE),--large $(LARGE))

test-next-pods: setup cluster-up ## from a kill to the next pod, fifty times: an engine that makes the next pod at once, and Plimsoll
	$(INSIDE) $(BIN)/pytest --capture=no tests/engines

kueue: setup
	@$(BIN)/python -m tests.kueue.kueues

test-kueue: cluster-up kueue ## a real Kueue on the cluster: Jobs sized before it counts them, pods that it counts left alone
	$(INSIDE) $(BIN)/pytest tests/kueue

argo: setup
	@$(BIN)/python -m tests.argo.argos

test-argo: cluster-up argo ## a real Argo Workflows beside the cluster: killed steps, whose next pod it makes without a backoff
	$(INSIDE) $(BIN)/pytest --capture=no tests/argo

spark: setup
	@$(BIN)/python -m tests.rigs.spark.spark_image

test-spark: cluster-up spark ## a real Spark on the node: what Plimsoll gives its drivers, what wins over that, and a killed job that succeeds in the end
	$(INSIDE) $(BIN)/pytest --capture=no tests/spark

test-engines: test-airflow test-next-pods test-kueue test-argo test-spark ## real workflow engines beside the cluster, which make test leaves out: they take minutes

test-placing: setup ## two real nodes, a core each: what is observed of tasks that share them, on a separate cluster
	$(BIN)/pytest tests/placing

test-local: setup cluster-up ## the local cluster itself: brought up, killed, taken away
	$(INSIDE) $(BIN)/pytest tests/local

RENDERED := tests/chart/rendered
FOLLOWED := tests/chart/test_documented_commands.py

test-rendered: setup fetched ## the Helm chart: lint, schema, golden renders, no cluster
	$(BIN)/pytest $(RENDERED)

test-chart: setup image fetched ## the Helm chart installed, upgraded, uninstalled on the real node
	$(INSIDE) $(BIN)/pytest tests/chart $(addprefix --ignore=,$(RENDERED) $(FOLLOWED))

test-followed: setup postgresql image fetched ## the pages for admins, followed word by word on the real node
	$(INSIDE) $(BIN)/pytest $(FOLLOWED)

TURNS := tests/ha/turns

test-ha: setup postgresql image fetched ## leaders killed and cut off, upgrades under load, random kills, on PostgreSQL
	$(INSIDE) $(BIN)/pytest tests/ha $(addprefix --ignore=,$(TURNS))

test-turns: setup cluster-up ## pods and Jobs that wait for their turn while all that releases them is killed
	$(INSIDE) $(BIN)/pytest $(TURNS)

soak-cluster: setup image ## the tests that kill at random on the node, many times
	$(INSIDE) $(BIN)/pytest --rounds 50 --capture=no tests/campaigns/test_campaign_runs.py -k kills_at_random
	$(INSIDE) $(BIN)/pytest --rounds 50 tests/ha/test_killed_at_random.py tests/ha/turns/test_turns.py
	$(INSIDE) $(BIN)/pytest --rounds 50 --capture=no tests/split/test_leased_jobs.py -k killed
	$(INSIDE) $(BIN)/pytest --rounds 50 tests/apiserver/floods/test_floods.py -k flood_of_kills

generated: setup ## write the generated files again: chart, rendered manifests, dashboard, references
	$(BIN)/python -P deploy/grafana/dashboard.py
	$(BIN)/python -P deploy/chart/renew.py
	$(BIN)/python -P deploy/reference/fields.py
	$(BIN)/python -P -m plimsoll_operator.command_reference > docs/cli.md

format: setup ## rewrite the sources in the house format
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

format-check: setup
	$(BIN)/ruff format --check $(SOURCES)

lint: setup ## ruff
	$(BIN)/ruff check $(SOURCES)

# Beside the built binaries, so that a clean clone checks only what has changed since.
types: setup ## mypy --strict
	$(BIN)/mypy --cache-dir "$${XDG_CACHE_HOME:-$$HOME/.cache}/plimsoll/mypy"

layers: setup ## import-linter: decisions stay pure
	$(BIN)/lint-imports

mutants: setup postgresql ## change one thing in a pure module, 60 times, and list the changes that no test notices (MUTANTS="--sample 200 --seed 7")
	$(BIN)/python -m tests.mutants $(MUTANTS)

# What follows it is the folder and the module, such as sizes.comparison.
MEASURE := PYTHONPATH=. $(BIN)/python -P -m benchmarks

bench: setup cluster-up ## the figures of the README, side by side, and bench-results.json
	$(MEASURE).readme.figures

bench-alone: setup postgresql prometheus image fetched ## the tests on clusters that promise seconds, held to them; they need the machine for themselves
	$(INSIDE) $(BIN)/pytest --alone -m "alone or timed" tests/apiserver tests/campaigns tests/controller tests/chart tests/e2e tests/ha tests/harm tests/image tests/local tests/split

bench-saturated: setup postgresql image fetched ## admission with both processors busy, beside a webhook that only answers
	$(INSIDE) $(BIN)/pytest tests/ha/replicas/bench_saturated.py

bench-sizes: setup ## every policy on the public traces beside its bar, and each trace with the constants that the other traces choose (the first time, that takes 10 to 20 minutes more); bench-sizes.json (TRACES=folder of yours, LEFT_OUT= to leave that out)
	$(MEASURE).sizes.comparison $(LEFT_OUT)

bench-thesis: setup ## the thesis's tables on synthetic data, beside its printed figures
	$(MEASURE).thesis.comparison

bench-sap: setup ## software builds as a second kind of workload (TRACES=folder of yours)
	$(MEASURE).sap.comparison

bench-budgets: setup ## what error budgets cost in waste, on the public traces (TRACES=folder of yours)
	$(MEASURE).sizes.error_budget

bench-shifts: setup ## what noticing that a task has changed saves, on the public traces cut and joined (TRACES=folder of yours)
	$(MEASURE).shifts.comparison

bench-forecast: setup ## forecasts of runtimes on the public logs beside their bars, and bench-forecast.json (TRACES=folder of yours)
	$(MEASURE).forecast.comparison

bench-live: setup cluster-up ## recurring tasks, a burst with and without what running attempts show, a batch of cold runs with and without lending, on the real node; bench-live.json
	$(MEASURE).live.node

bench-rescue: setup cluster-up ## growing tasks, without rescue and with it, on the real node; bench-rescue.json
	$(MEASURE).rescue.node

bench-placing: setup ## jobs chosen and placed by how they slow each other, on co-location matrices; bench-placing.json (TRACES=folder of yours)
	$(MEASURE).placing.simulation

bench-placing-nodes: setup ## one queue played twice on two real nodes, a core each: as usual, and with order and hints; bench-placing-nodes.json
	$(MEASURE).placing.nodes

bench-campaigns-node: setup cluster-up ## two tasks learned by campaigns on the real node while processes are killed, then production runs, then both orders of scenarios undisturbed; into bench-scale.json; some forty minutes
	$(MEASURE).campaigns.node

bench-scheduling: setup cluster-up ## pods a second of a real kube-scheduler on 1,000 nodes, without the extender and with it; bench-scheduling.json
	$(MEASURE).scheduling.throughput

bench-split: setup ## jobs over items cut by each strategy, beside the best even chunk, and memory with it; bench-split.json
	$(MEASURE).split.simulation

bench-split-node: setup cluster-up ## Jobs over items on the real node, as written and as Plimsoll cuts them; bench-split-node.json
	$(MEASURE).split.node

bench-spark-node: cluster-up spark ## a real Spark on the node: a join and a sort as written and with what Plimsoll gives their drivers, and a killed job healed; bench-spark-node.json (ONLY=join, sort, adaptive, written, configured, killed)
	$(MEASURE).split.spark $(if $(ONLY),--only $(ONLY))

bench-campaigns: setup ## how many scenarios a campaign needs, in both orders, on synthetic tasks; into bench-scale.json
	$(MEASURE).campaigns.simulation

bench-watch: setup cluster-up ## a controller that watches 20,000 pods of fake nodes while they end; bench-scale.json (PODS="2000 5000")
	$(MEASURE).scale.watch $(if $(PODS),--pods $(PODS))

bench-scale: setup ## a million observations on SQLite and PostgreSQL, models of thousands of tasks, and bench-scale.json
	$(MEASURE).scale.million

bench-trainings: setup postgresql ## rounds of trainings on PostgreSQL: 150 by one worker, by two, and by two that are killed; a thousand by two; into bench-scale.json
	$(MEASURE).scale.trainings --sample 150

cluster-up: ## a real one-node Kubernetes on this machine (root, Debian 12)
	$(CLUSTER) up

cluster-down: ## end it, leaving nothing behind
	$(CLUSTER) down

image: cluster-up ## build the image and load it into the local cluster
	$(CLUSTER) image

# Without a cluster: what follows loads it.
image-built:
	@$(CLUSTER) image

fetched: ## what tests on a cluster need and cannot get from its network: Helm, and other projects' definitions
	@$(CLUSTER) fetch

lock: setup ## rewrite requirements/*.lock from pyproject.toml
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml --group dev -o requirements/dev.lock
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --extra postgresql pyproject.toml -c requirements/dev.lock -o requirements/runtime.lock
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/build.in -c requirements/dev.lock -o requirements/build.lock
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/demo.in -c requirements/dev.lock -o requirements/demo.lock
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/mlflow.in -o requirements/mlflow.lock
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/airflow.in -o requirements/airflow.lock
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/spark.in -o requirements/spark.lock

clean: ## end the local cluster and remove what was built here (the cache of binaries stays)
	-[ ! -f deploy/local/cluster.py ] || $(CLUSTER) down
	-[ ! -d .local/cluster-placing ] || PLIMSOLL_CLUSTER_HOME=$(CURDIR)/.local/cluster-placing $(CLUSTER) down
	-[ ! -d .local/test-logs ] || $(PYTHON) -m tests.suites down
	rm -rf $(VENV) .local .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache demo-summary.json demo-report.html demo-campaign-summary.json demo-campaign.html demo-placing.html bench-results.json bench-sizes.json bench-forecast.json bench-live.json bench-rescue.json bench-placing.json bench-placing-nodes.json bench-scheduling.json bench-split.json bench-split-node.json bench-spark-node.json bench-scale.json harm.json bench-sizes-left-out*.json
