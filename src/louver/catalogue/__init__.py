"""Tool metadata: entries, views, descriptions, policy, search. No transports here."""
