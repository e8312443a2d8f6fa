"""Nodes that are real: this machine's devices, or those of a cluster, behind the protocol of the simulated one."""
