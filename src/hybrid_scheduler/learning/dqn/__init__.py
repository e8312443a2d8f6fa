"""The deep Q-network: `policy` acts, `network` learns, `times` knows the devices, `agent` decides and remembers."""
