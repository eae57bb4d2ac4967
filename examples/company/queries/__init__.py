"""What the tools ask the database: one file a group of tables, SQL in, models out."""
