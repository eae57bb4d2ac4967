"""bm25s, with the stemmer and the stop words of its documentation. It runs where bm25s is installed.

It ranks texts: a tool's is its name, as words, its description, and the names and descriptions of its parameters.
"""

import re

import bm25s  # pyright: ignore[reportMissingImports]
import Stemmer  # pyright: ignore[reportMissingImports]
from peer_search import Search, serve  # pyright: ignore[reportMissingImports]


def index(tools: list[dict], most: int) -> Search:
    """The search of a list."""
    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]):
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    ranking = bm25s.BM25()
    ranking.index(tokens([_text(tool) for tool in tools]), show_progress=False)

    async def search(query: str) -> list[str]:
        places, scores = ranking.retrieve(tokens([query]), k=min(most, len(tools)), show_progress=False)
        return [tools[place]["name"] for place, score in zip(places[0], scores[0], strict=True) if score > 0]

    return search


def _text(tool: dict) -> str:
    parameters = tool["inputSchema"].get("properties") or {}
    described = [text for name, part in parameters.items() for text in (name, str(part.get("description") or ""))]
    return " ".join([re.sub("[_-]+", " ", tool["name"]), tool.get("description") or "", *described])


serve(index)
