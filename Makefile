# Stampede: a test bench for PHP runtimes. `make demo` shows it; `make test` runs everything that CI runs.

STAMPEDE := target/release/stampede

.PHONY: help demo test check check-bench format clippy tidy site unit test-php test-web analyse-php bench-report bench-load bench-rates bench-status bench-stats bench-real bench-turns bench-blocks bench-forecast bench-forecast-real bench-forecast-published bench-gateway bench-capacity bench-size bench-sizes bench-tune bench-grids bench-ladder bench-findings bench-inside bench-soak fuzz test-kubernetes static dist dist-test msrv

help:
	@echo "make demo    install what is missing, build, and compare PHP runtimes on this machine"
	@echo "make test    install what the tests need, then make check"
	@echo "make check   the same without installing: everything that CI runs, cheapest first"
	@echo "make check-bench"
	@echo "             lints and tests the crate of the benchmarks, which make check leaves out"
	@echo "make site    the documents as pages with a search, in target/site (docs/adr/0048-a-site-made-by-xtask.md)"
	@echo "make test-php"
	@echo "             the workloads' PHP code on real servers (PHPUnit)"
	@echo "make test-web"
	@echo "             the script of HTML reports, and reports in a browser (node, npm, chromium)"
	@echo "make bench-report"
	@echo "             the memory that the page of a large study takes to be made"
	@echo "make bench-load"
	@echo "             what the load engine costs beside other tools, into docs/bench-load.md;"
	@echo "             BENCH='--rounds 9' passes flags (see target/release/stampede-bench --help)"
	@echo "make bench-rates"
	@echo "             the same command lines of hey, ab and wrk: our rates beside theirs"
	@echo "make bench-status"
	@echo "             what it costs a server to be sampled while it is measured"
	@echo "make bench-stats"
	@echo "             how often verdicts are right, in simulated studies, into docs/bench-stats.md"
	@echo "make bench-real"
	@echo "             how often they are right in real studies, where the truth is known (some hours; goes on"
	@echo "             where it was left), into docs/bench-stats-real.md"
	@echo "make bench-turns"
	@echo "             where the scatter of trials comes from, and what turns take away of it (an hour, goes on"
	@echo "             where it was left), into docs/bench-turns.md"
	@echo "make bench-blocks"
	@echo "             what verdicts in turns are worth where the truth is known (some hours, continues where it was"
	@echo "             left; BENCH='--time 2400s' bounds it), into docs/bench-blocks.md"
	@echo "make bench-forecast"
	@echo "             how fast the forecast simulates, into docs/bench-forecast.md"
	@echo "make bench-forecast-real"
	@echo "             how near it comes to real services, into docs/bench-forecast-real.md"
	@echo "make bench-forecast-published"
	@echo "             what it makes of the published rows, into docs/bench-forecast-published.md"
	@echo "make bench-gateway"
	@echo "             what the gateway costs a request beside nginx, into docs/bench-gateway.md"
	@echo "make bench-capacity"
	@echo "             how near stampede capacity comes, on simulated servers, into docs/bench-capacity.md"
	@echo "make bench-size"
	@echo "             how near stampede size comes to the cheapest, on simulated services, into docs/bench-size.md"
	@echo "make bench-sizes"
	@echo "             records sizes for bench-size, into crates/bench/data/sizes.jsonl; BENCH='--max-time 3600s' for an hour of it"
	@echo "make bench-tune"
	@echo "             how near the search for settings comes to the best, into docs/bench-tune.md"
	@echo "make bench-grids"
	@echo "             records settings for bench-tune, into crates/bench/data/grids"
	@echo "make bench-ladder"
	@echo "             the rinha ladder by machine: steps from its first deployment, held against its last one;"
	@echo "             RINHA=DIR names a copy of workloads/rinha with Laravel Octane in its vendor folder"
	@echo "make bench-findings"
	@echo "             how often the first bottleneck that is named is the right one, into docs/bench-findings.md"
	@echo "make bench-inside"
	@echo "             whether samples of PHP's stacks find shares that are known, into docs/bench-inside.md;"
	@echo "             BENCH='--vendors DIR' names a folder that has RoadRunner's or Workerman's packages"
	@echo "make bench-soak"
	@echo "             whether hours of studies, and kills at any instant, leave anything behind, into docs/bench-soak.md;"
	@echo "             BENCH='--whole 100 --kills 50' says how much of it is done now"
	@echo "make static  one file that needs no library of the machine, in target/static (docs/static-program.md)"
	@echo "make test-kubernetes"
	@echo "             load and images in real clusters of one and three nodes (root; docs/kubernetes.md)"
	@echo "make dist    what a release consists of, in target/packages (docs/releases.md)"
	@echo "make dist-test"
	@echo "             installs, uses and removes that in a bare Debian (root, debootstrap)"
	@echo "make msrv    compiles with the oldest Rust that Cargo.toml names"
	@echo "make fuzz    three minutes of fuzzing for each parser"

demo:
	@scripts/packages.sh demo
	@scripts/rust.sh
	cargo build --profile demo --locked --package stampede
	@scripts/demo.sh target/demo/stampede

test:
	@scripts/rust.sh
	@scripts/nextest.sh start
	@scripts/packages.sh test
	@scripts/nextest.sh start
	@$(MAKE) --no-print-directory check

# The parts below, linted and built in one pass, and run beside each other where that disturbs nothing.
check:
	@scripts/check.sh

# After make check, whose builds it uses: linted while it is built, with the features that all crates together choose.
check-bench:
	. scripts/lint.sh && cargo test --workspace --bin stampede-bench --test harness --locked

format:
	cargo fmt --all --check

clippy:
	cargo clippy --all-targets --locked -- -D warnings

# Of all crates' features: `cargo xtask tidy`, which is the same from any folder, builds some dependencies once more.
tidy:
	cargo run --quiet --locked --bin xtask -- tidy

# The reference is what the program prints about itself.
site:
	@scripts/rust.sh
	cargo build --locked --package stampede
	cargo run --quiet --locked --bin xtask -- site target/debug/stampede

# Unit tests, snapshots of the command line, then tests with real servers.
unit:
	@scripts/tests.sh all

# Every end point of the workloads, in PHP, Laravel, Symfony and Go, with database servers of the tests' own.
test-php:
	@scripts/php.sh test

# Types, bundle and unit tests of the web code, then reports in Chromium.
test-web:
	@scripts/web.sh test

# Load and images in real clusters of one and three nodes, with this machine's containerd: as root, apart from make test (docs/kubernetes.md).
test-kubernetes:
	@tests/cluster/test.sh

# At PHPStan's highest level (phpstan.neon).
analyse-php:
	@scripts/php.sh analyse

# A study of 50 cases with 20 trials each.
bench-report:
	cargo test --release --locked --package stampede --test it -- --ignored --nocapture a_report_of_a_thousand_trials

# On a quiet machine with two processors or more; takes some eight minutes.
bench-load:
	@scripts/packages.sh bench
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench load --output docs/bench-load.md $(BENCH)

# Alternates each tool with ours on a server that takes 10 ms an answer; on a quiet machine.
bench-rates:
	@scripts/packages.sh bench
	cargo test --locked --package stampede --test it -- --ignored --nocapture rates_are_the_tools_own

# Measures nginx-fpm and apache-mod-php with sampling and without by turns; takes some twelve minutes.
bench-status:
	@scripts/packages.sh demo
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench sampling $(BENCH)

# Needs no quiet machine: it only computes, for some minutes, and the same seed gives the same figures.
bench-stats:
	@scripts/rust.sh
	cargo build --release --locked --package stampede-bench
	target/release/stampede-bench stats --output docs/bench-stats.md $(BENCH)

# Needs a quiet machine for some hours; a study that is done is kept in crates/bench/data/real-studies.csv.
bench-real:
	@scripts/packages.sh demo
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench real $(BENCH)

# Takes an hour on a quiet machine; studies that are done are kept in crates/bench/data/turns.jsonl.
bench-turns:
	@scripts/packages.sh demo
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench turns $(BENCH)

# Takes some hours on a quiet machine; studies that are done are kept in crates/bench/data/blocks.jsonl.
bench-blocks:
	@scripts/packages.sh demo
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench blocks $(BENCH)

# Computes on one processor for a minute or two.
bench-forecast:
	@scripts/rust.sh
	cargo bench --locked --package stampede-forecast --bench speed -- --document

# Ten services, five times each: takes an hour on a quiet machine, and goes on where it was left.
bench-forecast-real:
	@scripts/packages.sh demo
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench forecast $(BENCH)

# Runtimes that are not installed are left out; takes some fifteen minutes with all of them.
bench-forecast-published:
	@scripts/packages.sh demo
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench published $(BENCH)

# On two processors or more; takes three minutes.
bench-gateway:
	@scripts/packages.sh demo
	@scripts/rust.sh
	cargo bench --locked --package stampede-gateway --bench cost -- --document

# Needs no quiet machine; hours in pieces, which are kept in crates/bench/data/soak.jsonl.
bench-soak:
	@scripts/packages.sh demo
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench soak $(BENCH)

# Needs no quiet machine: it only computes.
bench-capacity:
	@scripts/rust.sh
	cargo build --release --locked --package stampede-bench
	target/release/stampede-bench capacity --output docs/bench-capacity.md $(BENCH)

# The same.
bench-size:
	@scripts/rust.sh
	cargo build --release --locked --package stampede-bench
	target/release/stampede-bench size --output docs/bench-size.md $(BENCH)

# Records what bench-size replays, on a quiet machine: 162 cells of three to ten trials of 27 and 22 s take three and a half hours and
# more, and it goes on where it was left.
bench-sizes:
	@scripts/packages.sh findings
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench size-grid $(BENCH)

# Needs no quiet machine either: it replays grids that were recorded before, or made up.
bench-tune:
	@scripts/rust.sh
	cargo build --release --locked --package stampede-bench
	target/release/stampede-bench tune --output docs/bench-tune.md $(BENCH)

# Records the grids of bench-tune: a trial of each of some hundred settings takes three to seven minutes; 36 of these in
# all, and it goes on where it was left.
bench-grids:
	@scripts/packages.sh findings
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench grid $(BENCH)

# Ten steps and nine trials more of 205 s each: takes some 75 minutes, on a quiet machine. Where Swoole and Laravel Octane are, they are
# taken (docs/runtimes.md), and are what the published ladder ends with. The result is told in docs/bench-ladder.md.
RINHA = rinha
bench-ladder:
	@scripts/packages.sh test
	@scripts/rust.sh
	cargo build --release --locked --package stampede
	$(STAMPEDE) tune php-cli-server $(RINHA) --app laravel --steps 10 --against rinha/task-workers --metric created_count \
		--set php-cli-server.PHP_CLI_SERVER_WORKERS=1 --ini opcache.enable=0 --ini opcache.enable_cli=0 \
		--cpus 1.5 --memory 3Gi --replicas 2 --balancer nginx \
		--share replica=0.33,700Mi --share balancer=0.2,256Mi --share postgres=0.58,1Gi $(BENCH)

# Provokes faults for real: on a quiet machine with two processors or more; takes some half an hour and goes on where it was left.
bench-findings:
	@scripts/packages.sh findings
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench findings $(BENCH)

bench-inside:
	@scripts/packages.sh findings
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench inside $(BENCH)

fuzz:
	@scripts/rust.sh
	@scripts/fuzz.sh

static:
	@scripts/rust.sh
	@scripts/static.sh

dist:
	@scripts/rust.sh
	@scripts/dist.sh

dist-test:
	@scripts/dist_test.sh

msrv:
	@scripts/msrv.sh
