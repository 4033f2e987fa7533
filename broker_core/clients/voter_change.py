"""What `kafka-metadata-quorum add-controller` and `remove-controller` do: who votes in the metadata quorum (KIP-853).

    DescribeQuorum   -> any broker, which passes it on to the leader: voters and observers, with directory ids
    AddRaftVoter     -> the same: id, directory id and addresses of an observer that has caught up
    RemoveRaftVoter  -> the same: id and directory id of a voter

A voter is its id *and* its directory id, so both are looked up first. A controller that has just been started is not
among the observers yet, and while it is behind the leader refuses it (REQUEST_TIMED_OUT): it is asked for again until
`default.api.timeout.ms` is over. So is a change when nobody has answered; where it has been made by then, that is seen
in the voters.
"""

from __future__ import annotations

import uuid
from typing import Any

from broker_core.clients.admin_questions import Admin, AdminQuestions
from broker_core.clients.admin_requests import AdminCall
from broker_core.kernel.problems import problem
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

METADATA_TOPIC, LISTENER = "__cluster_metadata", "CONTROLLER"
NO_DIRECTORY = uuid.UUID(int=0)
"""Of static voters, whom a setting names by their ids alone."""
Place = tuple[str, int]  # host, port


class VoterChange(AdminQuestions):
    """One such command under way. `place`: where the new voter listens; None: it is to vote no more."""

    def __init__(self, admin: Admin, call: AdminCall, controller: int, place: Place | None) -> None:
        super().__init__(admin, call)
        self.controller = controller
        self.place = place

    def _begin(self) -> None:
        asked = m.DescribeQuorumRequest.TopicData(
            topic_name=METADATA_TOPIC, partitions=[m.DescribeQuorumRequest.PartitionData(partition_index=0)]
        )
        self._ask_any(ApiKey.DESCRIBE_QUORUM, m.DescribeQuorumRequest(topics=[asked]), self._described)

    def _described(self, response: Any) -> None:
        if self._failed(response.error_code):
            return
        found = response.topics[0].partitions[0]
        if self._failed(found.error_code):
            return
        voter, observer = (self._among(found.current_voters), self._among(found.observers))
        if self.place is None and voter is None:
            self._over()
        elif self.place is None:
            self._remove(voter)
        elif voter is not None:
            self._over()
        elif observer is None:
            self._again()  # it has not asked the leader for anything yet
        else:
            self._add(observer, self.place)

    def _among(self, replicas: Any) -> Any:
        return next((one for one in replicas if one.replica_id == self.controller), None)

    def _over(self) -> None:
        """It is as it was to be: by this command, if it was sent before, or since long."""
        if self.call.unanswered:
            self.admin.end(self.call, "ok", "", "")
        elif self.place is None:
            self._refuse(ErrorCode.VOTER_NOT_FOUND, own=problem("no_voter", controller=self.controller))
        else:
            self._refuse(ErrorCode.DUPLICATE_VOTER, own=problem("voter_already", controller=self.controller))

    def _add(self, observer: Any, place: Place) -> None:
        kind = m.AddRaftVoterRequest
        host, port = place
        body = kind(
            cluster_id=None, timeout=self.admin.settings.request_timeout_ms, voter_id=self.controller,
            voter_directory_id=observer.replica_directory_id,
            listeners=[kind.Listener(name=LISTENER, host=host, port=port)], ack_when_committed=True,
        )  # fmt: skip
        self.call.unanswered = True
        self._ask_any(ApiKey.ADD_RAFT_VOTER, body, self._changed)

    def _remove(self, voter: Any) -> None:
        if voter.replica_directory_id == NO_DIRECTORY:
            self._refuse(ErrorCode.UNSUPPORTED_VERSION, own=problem("static_voters"))
            return
        kind = m.RemoveRaftVoterRequest
        body = kind(cluster_id=None, voter_id=self.controller, voter_directory_id=voter.replica_directory_id)
        self.call.unanswered = True
        self._ask_any(ApiKey.REMOVE_RAFT_VOTER, body, self._changed)

    def _changed(self, response: Any) -> None:
        self.call.unanswered = response.error_code == ErrorCode.REQUEST_TIMED_OUT
        if not self._failed(response.error_code, response.error_message):
            self.admin.end(self.call, "ok", "", "")
