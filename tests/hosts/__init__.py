"""Real agent hosts against a model that is played: what a model sees of a server behind `louver serve`."""
