"""Progressive disclosure: tools listed by summary, described on demand."""
