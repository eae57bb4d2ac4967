"""What a gateway for many people needs: logins at servers, replicas with shared state, shipping, telemetry.

`steps` expects `SharedState`, `Spool` and `Metrics` of it; `gateway.back` `PluggedLogins` and `ReplicaNews`;
`gateway.front` `Replicas`; `gateway.records` `Shipper`; `cli` the commands and the providers of telemetry.
"""
