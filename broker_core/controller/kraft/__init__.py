"""The controller of a KRaft cluster: its decisions are records, and count when they are committed."""

from broker_core.controller.kraft.quorum_controller import APIS, QuorumController

__all__ = ["APIS", "QuorumController"]
