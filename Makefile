# iodyno: `make demo` shows the main job on this machine, `make test` builds and runs every test.
# Both install by apt what they need on a fresh Debian 12 with Rust (as root, or with sudo).

SHELL := /bin/bash
APT_BUILD := gcc binutils libc6-dev make clang libelf-dev zlib1g-dev pkg-config
APT_TEST := fio strace blktrace sysstat nicstat e2fsprogs xfsprogs btrfs-progs fdisk gdisk mount util-linux systemd attr iproute2 chromium nodejs npm python3 python3-venv python3-prometheus-client zstd fuse3 bindfs procps
# Both may hold spaces: quoted wherever the shell sees them, and no function of make, which would see several words, takes them.
OUT := $(or $(CARGO_TARGET_DIR),target)
BIN := $(OUT)/release/iodyno
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: demo demo-amber-road demo-self-heal build query test test-released test-build check fmt bench bench-trace bench-replay bench-record bench-top bench-honest bench-compare bench-files bench-stamping bench-validation bench-catch soak-catch exam exam-quick soak fuzz web docs deps-build deps-test clean

# Installs the packages of $(1) that are not there yet; silent when all are. What was removed and not purged is known to dpkg, and not there.
define apt
	@missing=""; for p in $(1); do dpkg-query -W -f='$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed || missing="$$missing $$p"; done; \
	case "$$missing" in *nodejs*|*npm*) command -v node >/dev/null && command -v npm >/dev/null && missing=$$(echo $$missing | sed 's/\bnodejs\b//;s/\bnpm\b//');; esac; \
	if [ -n "$${missing// /}" ]; then echo "installing:$$missing"; \
	  $(SUDO) apt-get -qq update && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $$missing >/dev/null; fi
endef

# Moves debug information out of $(1) into $(1).debug, where gdb and perf find it.
define separate
	@f="$(1)"; sections=$$(readelf -SW "$$f") && case "$$sections" in *" .debug_info "*) \
	  objcopy --only-keep-debug "$$f" "$$f.debug" && chmod -x "$$f.debug" && objcopy --strip-debug --add-gnu-debuglink="$$f.debug" "$$f" "$$f.new" && \
	  touch -r "$$f" "$$f.new" && mv -f "$$f.new" "$$f";; esac
endef

deps-build:
	$(call apt,$(APT_BUILD))

deps-test: deps-build
	$(call apt,$(APT_TEST))

build: deps-build
	cargo build --release --locked -p iodyno
	$(call separate,$(BIN))

# iodyno-query beside iodyno: its SQL engine takes longer than all the rest, so it is built only when asked for.
query: build
	cargo build --profile query --locked -p query
	install -m 755 "$(OUT)/query/iodyno-query" "$(OUT)/release/"

# The main job on a scratch file of this machine: a curve of a mixed load, watched live, then a report.
demo: build
	@BIN="$(BIN)" bench/demo.sh

test-build: deps-test
	cargo test --locked --workspace --tests --no-run

# All of them, so that one run tells everything that fails. `make test FILTER=replay::` for some.
test: deps-test
	.ci/tests all $(FILTER)

# The same tests in the profile `release`, whose crates are optimised differently; not part of CI.
test-released: deps-test
	.ci/tests released $(FILTER)

# What a change must pass before it is proposed; `deny` needs cargo-deny and says so when it is not there.
check: fmt
	cargo clippy --locked --workspace --all-targets -- -D warnings
	@if command -v cargo-deny >/dev/null; then cargo deny --locked check bans licenses sources; else echo "skipped: cargo-deny is not installed (cargo install cargo-deny)"; fi
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	cargo run --locked --quiet -p xtask -- check

fmt:
	cargo fmt --all --check

# Rewrites what is generated from the sources: references of tables, columns, rules, options and SQL functions, man pages, and the types of the page's model.
docs:
	cargo run --locked --quiet -p xtask -- generate

web:
	cd web && npm ci --no-audit --no-fund && npm run build

# Ratios against fio (and fio's t/io_uring when T_IO_URING names a built copy), interleaved in one go.
bench: build deps-test
	bench/run.sh

# A trace's rate, its cost beside the kernel's blk tracer, and the report of 50 million I/Os (as root; needs 2 GB here).
bench-trace: build deps-test
	cargo build --release --locked -p session --example flood
	cargo build --release --locked -p recording --example generate_trace
	"$(OUT)/release/examples/flood" 1e6 5
	bench/trace_cost.py "$(BIN)"
	rm -rf target/generated.iodyno && mkdir -p target && "$(OUT)/release/examples/generate_trace" 50000000 target/generated.iodyno
	bash -c 'time "$(BIN)" report target/generated.iodyno'; rm -rf target/generated.iodyno

# How faithfully a trace is replayed, beside fio and btreplay (as root, best on an idle machine; needs 2 GB here).
bench-replay: build deps-test
	bench/replay.py "$(BIN)"

# What `record` costs with 600 processes, 60 of them active, beside atop, below, sadc, pidstat and node_exporter, those that are installed.
bench-record: build deps-test
	bench/record_cost.py "$(BIN)"

# How soon the page of a day stands in `top`, and what a live `top` costs beside 600 processes.
bench-top: build deps-test
	cargo build --release --locked -p recording --example generate_day
	bench/top.py "$(BIN)" --generate "$(OUT)/release/examples/generate_day"

# Operations on files beside a loop of the plain calls and fio's file engines (best on an idle machine; FLAGS='--where DIR': elsewhere than in memory).
bench-files: build deps-test
	cargo build --release --locked -p engine --example tree_calls
	bench/files.py "$(BIN)" "$(OUT)/release/examples/tree_calls" $(FLAGS)

# GB/s of one core that stamps and checks validated data, in every way that the processor has.
bench-stamping: deps-build
	cargo build --release --locked -p validation --example stamping
	"$(OUT)/release/examples/stamping"

# Operations per processor second with and without a proof of the data, beside fio and (VDBENCH=its script) Vdbench.
bench-validation: build deps-test
	bench/validation.py "$(BIN)" $(FLAGS)

# What each tool finds on a disk that goes wrong in a known way (as root; VDBENCH=its script for Vdbench's columns).
bench-catch: build deps-test
	cargo build --release --locked -p faultfs
	bench/catch_table.py "$(BIN)" "$(OUT)/release/faultfs" $(FLAGS)

# A thousand disks that go wrong, each its own way: all that shows is reported, block by block, and nothing else (as root; half an hour).
soak-catch: build deps-test
	cargo build --release --locked -p faultfs
	bench/catch_seeds.py "$(BIN)" "$(OUT)/release/faultfs" $(FLAGS)

# How often `compare` calls equal loads different, and finds a change of 5 %: the tables of docs/compare.md. Simulated (ten minutes;
# FLAGS=--quick: two), then real pairs on a quiet machine, as root (six minutes; FLAGS='--real N': N of each kind, '--real-only': these only).
bench-compare: build deps-test
	cargo build --release --locked -p views --example calibrate_compare
	cargo build --release --locked -p session --example real_pairs
	cargo build --release --locked -p faultfs
	bench/compare.sh "$(OUT)/release" $(FLAGS)

# A disk that answers nothing for two seconds: what each tool says of it (as root).
bench-honest: build deps-test
	cargo build --release --locked -p faultfs
	bench/honest_time.py "$(OUT)/release/"

# The load of an acceptance test with an rsync beside it, on a single and a mirrored file system (as root; three minutes, 7 GiB).
demo-amber-road: build
	@BIN="$(BIN)" bench/amber_road.sh

# A mirror with damaged blocks heals, is verified, and is found out where both legs are damaged (as root, btrfs on two loop devices).
demo-self-heal: build deps-test
	@examples/self-heal.sh "$(BIN)"

# Tests of times, which need an idle machine; not part of CI. Lists at the end what could not be judged.
exam: deps-test
	.ci/tests exam $(FILTER)

exam-quick: deps-test
	.ci/tests exam-quick $(FILTER)

# Hours compressed by a fake clock, and long fuzzing; not part of CI.
soak: deps-test
	cargo test --release --locked --workspace --exclude query -- --ignored soak --nocapture --test-threads 1

# Long fuzzing, and the property tests with seeds that CI does not take.
fuzz:
	for seed in $$(seq 1 20); do PROPTEST_RNG_SEED=$$(date +%N) cargo test --release --locked -p params -p plan -p quantity -p recording -p import -p tool_output -p trace -p stamp -p validation --tests || exit; done
	cargo run --release --locked -p params --example fuzz_params -- 10000000
	cargo run --release --locked -p import --example fuzz_imports -- 2000000

clean:
	cargo clean
