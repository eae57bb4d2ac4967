"""Threads, tasks, deadlines and backoff."""
