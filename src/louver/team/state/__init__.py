"""State that the replicas of a gateway share, on Redis or Valkey."""
