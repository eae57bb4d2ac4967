"""Progressive disclosure: tools are listed by summary and described in full on demand."""
