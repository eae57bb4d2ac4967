"""One projected call: from the request to the answer and its receipt."""
