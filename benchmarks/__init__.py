"""How fast, how large, how safe: figures of one run, and the claims that they are held against.

    python -m benchmarks run [--scenario NAME] [--rounds N] [--json FILE]
    python -m benchmarks check FILE
    python -m benchmarks.path

How it is measured is told in `benchmarks.measuring`, what is claimed stands in `benchmarks.claims`.
The last counts what one call enters, instead of how long it takes.
"""
