# Daily commands. `just` lists them.

_list:
    @just --list

# Format, lint and run the quick tests.
check:
    cargo fmt --all
    cargo clippy --all-targets -- -D warnings
    cargo test --lib

# Write all generated docs again.
docs:
    UPDATE_DOCS=1 cargo test --test docs --test scenarios --test contract

# Accept changed snapshots; look at the diff before you commit.
bless:
    INSTA_UPDATE=always cargo test
    git diff --stat -- '*.snap'

# Benchmarks, stage by stage.
bench:
    cargo bench

# Check the spelling of all texts (pip install typos).
spelling:
    typos

# Everything that decides whether work lands.
ci:
    bash .ci/run
