-- SANDBOX_TIMEOUT
::again:: goto again
