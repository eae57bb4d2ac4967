"""The five tools of 003: an agent starts with nothing, finds servers and tools step by step, and combines them.

::

    list-servers -> list-server-tools -> tool-details -> (inspect-tool-response) -> execute
"""
