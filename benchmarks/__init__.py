"""How fast, how large: one script a question, figures of one run."""
