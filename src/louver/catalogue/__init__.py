"""What is known of tools: entries, views. No transports here."""
