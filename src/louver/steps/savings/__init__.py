"""What projection saves: sizes of answers, counted by day, server, tool and view; never a value."""
