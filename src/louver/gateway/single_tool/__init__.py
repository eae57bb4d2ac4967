"""The one tool of 001: all servers behind it, an action each for what can be done.

::

    gateway(action="discover")                                    how it is used, made from what is there
    gateway(action="call", id="tracker__get_issue", arguments={"number": 7}, fields=["title"])
"""
