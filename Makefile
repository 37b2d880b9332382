# Two commands for a newcomer: `make demo` and `make test`. Everything else is for developers.
# Needs Python 3.11 or later, a C compiler, make and a Rust toolchain.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test test-deep test-slow rust-test python-test lint audit package-check evidence evidence-short evidence-needles evidence-verdicts evidence-ensemble evidence-vertical engines bench \
	bench-short bench-core bench-core-short ray-test ray-test-short ray-bench silos silos-bench sgd-test \
	faults mutants messages simulate fuzz docs wheels footprint report-layout report-picture golden lock clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

# $(call environment,FOLDER,GROUP,EXTRAS) makes a virtual environment: what the package needs with these
# extras, and the tools of a dependency group. pyproject.toml has the versions that they may have, and
# tests/locks/GROUP.txt those that were tested, if there is one: a new release elsewhere breaks no test.
comma := ,
locked = $(addprefix --constraint ,$(wildcard tests/locks/$(1).txt))
define environment
$(1)/.ready: pyproject.toml $(wildcard tests/locks/$(2).txt)
	$$(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --upgrade "pip>=26.3"
	$(if $(3),$(1)/bin/python -m pip install --quiet $(call locked,$(2)) --only-deps ".[$(3)]")
	$(1)/bin/python -m pip install --quiet $(call locked,$(2)) --group $(2)
	$(1)/bin/python -m pip check
	touch $$@
endef

$(eval $(call environment,$(VENV),dev,demo$(comma)sql))

# The compiled core and the package, in place.
RUST_SOURCES := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
$(VENV)/.built: $(VENV)/.ready $(RUST_SOURCES)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet
	touch $@

demo: $(VENV)/.built  ## Summarise scikit-learn's handwritten digits privately; writes demo-output/
	$(BIN)/dpsumm demo

test: rust-test python-test  ## Rust tests, Python tests, examples of the README

rust-test:
	cargo test --quiet --locked

# Two processes, each with one thread for data frames: most of the time goes by in Python.
# Ledgers wait for the disk at each entry. Where there is room the tests' files are in memory.
MEMORY := $(shell df -k --output=avail /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 4000000 {print "/dev/shm"}')
PYTEST := PYTEST_DEBUG_TEMPROOT=$(MEMORY) POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal

python-test: $(VENV)/.built
	$(PYTEST) -m "not slow and not deep"

test-deep: $(VENV)/.built  ## Audits, faults, simulations and long tests, of which `make test` runs witnesses
	$(PYTEST) -m "deep and not slow"

test-slow: $(VENV)/.built .venv-ray/.ready  ## What both leave out: all that is marked slow, long searches
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --timeout 3600 -m slow
	DPSUMM_HYPOTHESIS=long $(BIN)/python -m pytest -q -n 2 --timeout 3600 -m "not slow" $(shell grep -rl "import hypothesis\|from hypothesis" tests --include="test_*.py")
	$(RAY) -m pytest -q -m slow tests/runs/test_ray.py

faults: $(VENV)/.built  ## Every act of a run fails, of every subsystem; the table of docs/faults.md
	$(PYTEST) tests/faults
	PYTHONPATH=.:tests $(BIN)/python tests/faults/show.py

mutants: $(VENV)/.built  ## Plant bugs of privacy, one by one: which test or audit catches each
	PYTHONPATH=python:. $(BIN)/python tests/mutants/plant.py

messages: $(VENV)/.built  ## docs/privacy/messages.md and observables.md, from their registers
	PYTHONPATH=python $(BIN)/python tests/docs/show_messages.py
	$(BIN)/python tests/docs/observables.py

simulate: $(VENV)/.built  ## Runs under many faults at once, from fresh seeds: make simulate SECONDS=60
	cd tests && PYTHONPATH=$(CURDIR)/python:. ../$(BIN)/python -m simulator --seconds $(SECONDS)

lint: $(VENV)/.built  ## Format, lints and types of both languages; which room may import which; prose
	cargo fmt --all --check
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps -p dpsumm-core
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m mypy.stubtest dpsumm.kernels._core
	$(BIN)/python tests/docs/prose.py
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[bi]*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	! find tests -name 'test_*.py' | sed 's|.*/||' | sort | uniq -d | grep .  # pytest would refuse the second

golden: $(VENV)/.built  ## After a wanted change of messages: write tests/golden.json anew
	PYTHONPATH=.:tests $(BIN)/python -m tests.golden

audit: $(VENV)/.built  ## Attack every claim, and broken twins of them; writes docs/privacy/audit.md
	$(BIN)/dpsumm audit --out docs/privacy/audit.md

package-check:  ## Build sdist and wheel, install them into an empty environment, use them
	bash tests/package_check.sh $(PYTHON)

evidence: $(VENV)/.built  ## Experiments of docs/results.md and evidence/results: make evidence DATA=folder; goes on where it was
	PYTHONPATH=. $(BIN)/python -m evidence $(if $(DATA),--data $(DATA))
	$(if $(DATA),PYTHONPATH=. $(BIN)/python -m evidence.paper --data $(DATA))

evidence-short: $(VENV)/.built  ## One seed of two small scenarios; keeps nothing
	PYTHONPATH=. $(BIN)/python -m evidence --short

evidence-needles: $(VENV)/.built  ## Figures of docs/needles.md, who finds rare records: make evidence-needles DATA=folder; goes on where it was
	PYTHONPATH=. $(BIN)/python -m evidence.needles $(if $(DATA),--data $(DATA))

evidence-verdicts: $(VENV)/.built  ## Figures of docs/results.md, how often a verdict is right: make evidence-verdicts DATA=folder
	PYTHONPATH=. $(BIN)/python -m evidence.verdicts --data $(DATA)
	PYTHONPATH=. $(BIN)/python -m evidence.mistakes --data $(DATA)

evidence-ensemble: $(VENV)/.built  ## Figures of docs/results-learn.md: make evidence-ensemble DATA=folder
	PYTHONPATH=. $(BIN)/python -m evidence.ensemble --data $(DATA)

# MPyC pins nothing that tests or users run with; nor does dpmm (NumPy 1).
ENGINES := PYTHONPATH=$(CURDIR):$(CURDIR)/python .venv-engines/bin/python
$(eval $(call environment,.venv-engines,test,learn$(comma)mpyc))
$(eval $(call environment,.venv-rows,rows))

engines: $(VENV)/.built .venv-engines/.ready  ## MPyC in real processes
	$(ENGINES) -m pytest -q tests/engines

evidence-vertical: $(VENV)/.built .venv-engines/.ready .venv-rows/.ready  ## Figures of docs/results-rows.md and its tables: make evidence-vertical DATA=folder; goes on where it was
	$(ENGINES) -m evidence.vertical --data $(DATA)

SECONDS ?= 60
$(eval $(call environment,.venv-fuzz,fuzz,files))
fuzz: $(VENV)/.built .venv-fuzz/.ready  ## Fuzz messages, tables, ledgers with atheris: make fuzz SECONDS=60 (of each)
	for target in wire tables ledger; do \
		PYTHONPATH=python .venv-fuzz/bin/python tests/fuzz/run.py $$target $(SECONDS) || exit 1; \
	done

# The peers (JAX under coreax, compiled goodpoints) get an environment of their own, so that they pin
# nothing that tests or users run with. ONLY="selection mmd" measures these subjects alone.
PEERS := .venv-bench
$(eval $(call environment,$(PEERS),bench,demo))

bench: $(PEERS)/.ready $(VENV)/.built  ## Speed beside peers; writes benches/results, plots
	PYTHONPATH=python $(PEERS)/bin/python -m benches $(if $(ONLY),--only $(ONLY)) $(BENCH_FLAGS)

bench-short: $(VENV)/.built  ## The same with tiny sizes and the peers at hand; keeps nothing
	$(BIN)/python -m benches --short

# Ray has an environment of its own too; the package and its core are the ones of `make test`.
RAY := RAY_USAGE_STATS_ENABLED=0 PYTHONPATH=$(CURDIR)/python .venv-ray/bin/python
$(eval $(call environment,.venv-ray,test,ray))

ray-test: $(VENV)/.built .venv-ray/.ready  ## Tests of sharded owners on a local Ray
	$(RAY) -m pytest -q tests/runs/test_ray.py

ray-test-short: $(VENV)/.built .venv-ray/.ready  ## The same without the loss of a node
	$(RAY) -m pytest -q -m "not slow" tests/runs/test_ray.py

ray-bench: $(VENV)/.built .venv-ray/.ready  ## Time and memory of sharded owners as rows grow
	$(RAY) -m benches.shards

# So has Flower, whose simulation pins a Ray of its own.
SILOS := PYTHONPATH=$(CURDIR)/python .venv-silos/bin/python
$(eval $(call environment,.venv-silos,silos,flower$(comma)cli$(comma)learn))

# Flower and what it needs use what their own dependencies call deprecated. Three deployments at a time, since they
# mostly wait; a file has one of its own.
silos: $(VENV)/.built .venv-silos/.ready  ## Across silos: a deployment on loopback, faults, kills
	$(SILOS) -m pytest -q -n 3 --dist loadfile -W ignore::DeprecationWarning tests/silos

silos-bench: $(VENV)/.built .venv-silos/.ready  ## What an exchange across silos costs: the table of docs/deploy.md
	$(SILOS) -m benches.silos

# So has DP-SGD: JAX alone is 350 MB. Its libraries use what their own dependencies call deprecated.
$(eval $(call environment,.venv-sgd,test,sgd))

sgd-test: $(VENV)/.built .venv-sgd/.ready  ## Tests of models trained by DP-SGD
	PYTHONPATH=$(CURDIR)/python .venv-sgd/bin/python -m pytest -q -W ignore::DeprecationWarning tests/summary/test_model_sgd.py

bench-core:  ## Benches of the core (criterion)
	cargo bench --locked -p dpsumm-core

bench-core-short:  ## Run every bench of the core once, to see that it works
	cargo test --locked --quiet -p dpsumm-core --benches

report-layout: $(VENV)/.built  ## Store the report's layout anew, after a wanted change; needs Chromium
	DPSUMM_RENEW_LAYOUT=1 $(BIN)/python -m pytest -q tests/runs/test_report_browser.py

report-picture: demo  ## The picture of a report in README.md; needs Chromium
	chromium-headless-shell --no-sandbox --hide-scrollbars --window-size=1110,720 \
	    --screenshot=docs/images/report.png file://$(CURDIR)/demo-output/report.html

# The site reads the sources; its notebooks run while it is built, with the core of `make test`.
DOCS := .venv-docs
$(eval $(call environment,$(DOCS),docs,cli$(comma)learn))

docs: $(DOCS)/.ready $(VENV)/.built  ## The documentation as a site, in site/; runs its notebooks
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=$(CURDIR)/python $(DOCS)/bin/mkdocs build --strict --quiet

# Zig links for an old glibc, and for a processor that is not this one. Rust's library for it: rustup.
WHEELS := .venv-wheels
$(eval $(call environment,$(WHEELS),wheels))

wheels: $(WHEELS)/.ready  ## Wheels for Linux on x86-64 and aarch64, in dist/, and which systems they fit
	rustup target add x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
	for processor in x86_64 aarch64; do \
		PATH=$(CURDIR)/$(WHEELS)/bin:$$PATH maturin build --release --zig --quiet --out dist \
			--target $$processor-unknown-linux-gnu --compatibility manylinux_2_17 || exit 1; \
	done
	for wheel in dist/*.whl; do $(WHEELS)/bin/auditwheel show $$wheel || exit 1; done

footprint:  ## Size on disk of the wheel of `make wheels`, in an empty environment
	$(PYTHON) -m benches.footprint dist/dpsumm-*_$$(uname -m).whl

lock:  ## Newest versions for the tests, the site and the silos: tests/locks. Then run .ci/run
	rm -rf tests/locks $(VENV) $(DOCS) .venv-silos && mkdir tests/locks
	$(MAKE) $(VENV)/.ready $(DOCS)/.ready .venv-silos/.ready
	for one in $(VENV):dev $(DOCS):docs .venv-silos:silos; do \
		$${one%:*}/bin/python -m pip freeze --exclude dpsumm >tests/locks/$${one#*:}.txt || exit 1; \
	done

clean:  ## Remove everything built
	rm -rf target .venv .venv-* dist demo-output site python/dpsumm/kernels/_core*.so
