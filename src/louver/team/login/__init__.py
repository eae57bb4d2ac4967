"""OAuth logins at HTTP upstreams: kept sealed, renewed by the gateway, and given to requests."""
