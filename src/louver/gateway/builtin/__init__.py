"""Progressive discovery (003): list-servers, list-server-tools, tool-details, inspect-tool-response, execute."""
