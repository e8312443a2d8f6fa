"""The order of a waiting room: a small network scores pairs of a waiting task and an option to start it now.

Every input is a ratio, a logarithm of one or a share, so that one set of weights serves any number and mix of devices,
any unit of time and any length of the room. What the user cares for is an input too.
"""
