"""TODO schema."""
