"""What scripts/check-system.d/security, scripts/check-system.d/rotation and scripts/flood have in common.

`web` speaks HTTP over sockets, `nodes` starts clusters of real processes on loopback addresses, `peer` says what a node would
say, `forged` is the list of messages that nobody may say, and `recorder` listens between nodes.
"""
