"""The steps before a server, for `louver.attach` and the gateway; `compose.py` puts them in order."""
