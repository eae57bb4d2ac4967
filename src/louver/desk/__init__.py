"""What a person at a desk needs: the doctor, files of hosts, the page, and the picker of fields in a host.

`gateway` expects a step of it, the picker; `cli` the commands, and the page as applications before the endpoint.
"""
