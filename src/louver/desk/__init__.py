"""What a person at a desk needs: the doctor, files of hosts, and the page.

`cli` expects the commands, and the page as applications before the endpoint.
"""
