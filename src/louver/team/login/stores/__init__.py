"""Where logins are kept: in a folder of the user, or in the state that replicas share; sealed either way."""
