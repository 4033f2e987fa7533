"""The description of the API as Ninja makes it, from the types of its operations; a kind of answer is looked at once.

Ninja asks Pydantic for the schema of every answer of every operation. An operation has about eight, and all but one are
problems: of some eight hundred schemas a hundred differ.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema


class Description(OpenAPISchema):
    """`OpenAPISchema` that remembers what an answer looks like."""

    def __init__(self, api: NinjaAPI, path_prefix: str) -> None:
        self._answers: dict[tuple[Any, bool], tuple[dict[str, Any], bool]] = {}
        super().__init__(api, path_prefix)

    def _create_schema_from_model(
        self, model: Any, by_alias: bool = True, remove_level: bool = True, mode: Any = "validation"
    ) -> tuple[dict[str, Any], bool]:
        """As Ninja's, which wraps answers of one type in a class for each operation: what counts is the type."""
        if mode != "serialization" or list(model.model_fields) != ["response"]:
            return super()._create_schema_from_model(model, by_alias, remove_level, mode)
        key = model.model_fields["response"].annotation, by_alias
        if key not in self._answers:
            self._answers[key] = super()._create_schema_from_model(model, by_alias, remove_level, mode)
        return deepcopy(self._answers[key])
