"""The example without projection, over standard input and output."""

from louver.example import build_server

if __name__ == "__main__":
    build_server().run("stdio")
