"""Static word vectors, as a folder of Model2Vec; `meaning/train` in Louver's repository makes them."""

from pathlib import Path

__version__ = "0.1.0"

MODEL = Path(__file__).parent / "model"
