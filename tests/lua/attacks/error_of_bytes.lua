-- SANDBOX_RUNTIME
error(("\255\254\0\"\\"):rep(10000), 0)
