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
    UPDATE_DOCS=1 cargo test --test project docs
    UPDATE_DOCS=1 cargo test --test outputs export

# Accept changed snapshots; look at the diff before you commit.
bless:
    INSTA_UPDATE=always cargo test
    git diff --stat -- '*.snap'

# Benchmarks, stage by stage.
bench:
    cargo bench

# Start a rule: its YAML file and its test logs. FAMILY is KT1 to KT5.
new-rule NAME FAMILY="KT3":
    python3 fixtures/rules/new.py '{{NAME}}' '{{FAMILY}}'

# Check the spelling of all texts (needs: pip install typos).
spelling:
    typos

# Check the licenses and sources of dependencies (needs: cargo install cargo-deny).
deny:
    cargo deny --locked check licenses bans sources

# Run all checks that a change must pass.
ci:
    bash .ci/run
