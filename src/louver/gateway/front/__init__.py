"""Serve clients over stdio and over HTTP."""
