"""Search over tools: words, ranking, misspellings."""
