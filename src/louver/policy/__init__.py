"""Policy files, principals and audit records."""
