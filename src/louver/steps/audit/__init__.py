"""The audit trail: each call is recorded before it is answered."""
