"""The service: live engine, REST, WebSocket and the dashboard on one port (SPEC section 8)."""
