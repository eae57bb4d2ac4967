"""How many tokens of o200k texts have: `tokens(["Emma", "Nana"])`.

The tokenizer has an environment of its own, as stock clients have. There this file runs, and reads the texts as JSON on
standard input.
"""

import json
import subprocess
import sys

TOKENIZER = "bpe-openai>=0.1.3,<1"


def tokens(texts: list[str]) -> list[int]:
    """How many tokens each text has."""
    from .run import python_with

    command = [python_with(TOKENIZER), __file__]
    done = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    import bpe_openai

    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    json.dump([len(encode(text)) for text in json.load(sys.stdin)], sys.stdout)
