# Stampede: a test bench for PHP runtimes. `make demo` shows it; `make test` runs everything that CI runs.

STAMPEDE := target/release/stampede

.PHONY: help demo test check format clippy tidy unit bench-load

help:
	@echo "make demo    install what is missing, build, and compare PHP runtimes on this machine"
	@echo "make test    install what the tests need, then make check"
	@echo "make check   everything that CI runs, cheapest first"
	@echo "make bench-load"
	@echo "             what the load engine costs beside other tools, into docs/bench-load.md;"
	@echo "             BENCH='--rounds 9' passes flags (see target/release/stampede-bench --help)"

demo:
	@scripts/packages.sh demo
	@scripts/rust.sh
	cargo build --release --locked --package stampede
	@scripts/demo.sh $(STAMPEDE)

test:
	@scripts/packages.sh test
	@scripts/rust.sh
	@$(MAKE) --no-print-directory check

check: format clippy tidy unit

format:
	cargo fmt --all --check

clippy:
	cargo clippy --workspace --all-targets --locked -- -D warnings

tidy:
	cargo xtask tidy

# Unit tests, snapshots of the command line, then tests with real servers.
unit:
	cargo test --workspace --locked

# On a quiet machine with two processors or more; takes some eight minutes.
bench-load:
	@scripts/packages.sh bench
	@scripts/rust.sh
	cargo build --release --locked --package stampede --package stampede-bench
	target/release/stampede-bench load --output docs/bench-load.md $(BENCH)
