"""Feature levels go up and down: UpdateFeatures becomes FeatureLevelRecords, all of them or none.

| asked | upgrade type | answer |
|---|---|---|
| a level that a broker, a controller or this software does not know | any | INVALID_UPDATE_VERSION |
| a higher level | UPGRADE | written |
| a higher level | a downgrade | INVALID_UPDATE_VERSION |
| a lower level | UPGRADE | INVALID_UPDATE_VERSION |
| a lower level | SAFE_DOWNGRADE | written; of metadata.version only where no record is lost |
| metadata.version, records would be lost | any | INVALID_UPDATE_VERSION; 4.3 cannot even by force |
| kraft.version | UPGRADE | the quorum writes it, as a control record with the voters (KIP-853) |

Source: FeatureControlManager (KIP-584, KIP-1022).
"""

from __future__ import annotations

from typing import Any, Protocol

from broker_core.controller.kraft.result import Records, Result
from broker_core.controller.kraft.settings import SettingsControl
from broker_core.metadata import feature_levels as levels
from broker_core.metadata import records as r
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.errors import RequestError
from broker_core.metadata.image import MetadataImage
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
ALL = "The update failed for all features since the following feature had an error: "


class Quorum(Protocol):
    """What the metadata quorum decides by itself."""

    def kraft_level(self) -> int:
        """The level of kraft.version."""
        ...

    def voter_ids(self) -> list[int]:
        """The controllers that take part in it."""
        ...

    def upgrade_kraft(self, level: int) -> None:
        """Raise it. Raises ValueError with the reason why that cannot be."""
        ...


class FeatureControl:
    """Decides about feature levels."""

    def __init__(
        self, image: MetadataImage, config: BrokerConfig, settings: SettingsControl, own_id: int,
        quorum: Quorum,
    ) -> None:  # fmt: skip
        self.image = image
        self.config = config
        self.settings = settings
        self.own_id = own_id
        self.quorum = quorum

    def update(self, body: Any) -> Result:
        """All updates of a request, or none."""
        kind = m.UpdateFeaturesResponse
        wanted = {one.feature: one for one in body.feature_updates}
        proposed = {**self.image.features, **{name: one.max_version_level for name, one in wanted.items()}}
        records: Records = []
        try:
            for name, one in wanted.items():
                records += self._updated(name, one.max_version_level, one.upgrade_type, proposed)
            kraft = wanted.get(levels.KRAFT_VERSION)
            if kraft is not None and kraft.max_version_level > self.quorum.kraft_level() and not body.validate_only:
                self._upgrade_kraft(kraft.max_version_level)
        except RequestError as error:
            return Result([], kind(error_code=int(error.code), error_message=f"{ALL}{error.message}"))
        results = [kind.UpdatableFeatureResult(feature=name, error_message="") for name in wanted]
        return Result([] if body.validate_only else records, kind(error_message=None, results=results))

    def _updated(self, name: str, level: int, how: int, proposed: dict[str, int]) -> Records:
        now = self.quorum.kraft_level() if name == levels.KRAFT_VERSION else self.image.features.get(name, 0)
        why = self._why_not(name, level, how, now)
        if why is not None:
            raise _invalid(name, level, why)
        if name == levels.KRAFT_VERSION:
            if level < now:
                raise _invalid(name, level, "Voters that stand in the log cannot become static again.")
            return []
        if name == levels.METADATA_VERSION:
            self._check_metadata_version(level, how, now)
        for other, least in levels.DEPENDENCIES.get((name, level), {}).items():
            if proposed.get(other, 0) < least:
                why = f"{name} could not be set to {level} because it depends on {other} level {least}"
                raise _invalid(name, level, why)
        record = (r.FeatureLevelRecord(name=name, feature_level=level), 0)
        if name == levels.ELR_VERSION and level > now:
            return [*self.settings.one_minimum(self.config), record]
        return [record]

    def _upgrade_kraft(self, level: int) -> None:
        try:
            self.quorum.upgrade_kraft(level)
        except ValueError as error:
            raise _invalid(levels.KRAFT_VERSION, level, str(error)) from None

    def _why_not(self, name: str, level: int, how: int, now: int) -> str | None:
        if how not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            return "The controller does not support the given upgrade type."
        if level < 0:
            return "A feature version cannot be less than 0."
        unknown = self._unknown_to(name, level)
        if unknown is not None:
            return unknown
        if level < now and how == UPGRADE:
            return (
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
                "downgrade."
            )
        if level > now and how != UPGRADE:
            return "Can't downgrade to a newer version."
        return None

    def _unknown_to(self, name: str, level: int) -> str | None:
        own = levels.why_not_in(level, f"Local controller {self.own_id}", levels.SUPPORTED.get(name))
        if own is not None:
            return own
        processes = [(f"Broker {one.id}", one.features) for one in self.image.brokers.values()]
        processes += [(f"Controller {one.id}", one.features) for one in self.image.controllers.values()]
        reasons = (levels.why_not_in(level, what, features.get(name)) for what, features in processes)
        found = next((reason for reason in reasons if reason is not None), None)
        known = [self.own_id, *self.image.controllers]
        silent = next((one for one in self.quorum.voter_ids() if one not in known), None)
        if found is None and silent is not None:
            return f"controller {silent} has not registered, and may not support this feature"
        return found

    def _check_metadata_version(self, level: int, how: int, now: int) -> None:
        if level >= now or not levels.loses_metadata(level, now):
            return
        why = "Refusing to perform the requested downgrade because it might delete metadata information."
        if how == UNSAFE_DOWNGRADE:
            why = "Unsafe metadata downgrade is not supported in this version."
        message = f"Unsupported metadata.version downgrade from {now} to {level}. {why}"
        raise RequestError(ErrorCode.INVALID_UPDATE_VERSION, message)


def _invalid(name: str, level: int, why: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_UPDATE_VERSION, f"Invalid update version {level} for feature {name}. {why}")
