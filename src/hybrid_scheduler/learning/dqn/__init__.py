"""The deep Q-network: `policy` acts, `network` learns, `agent` decides, explores and remembers."""
