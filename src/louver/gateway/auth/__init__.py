"""Who may use a gateway over HTTP: a bearer token with every request, looked at in one of three ways.

::

    authenticated ── signed         by an issuer, whose keys stand in a file or at a URL
         │        ── introspection  known to an issuer, which is asked
         │        ── static         listed by its digest in a file
         └── the faster way, and the SDK's app behind it
"""
