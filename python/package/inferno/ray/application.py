"""The application of ``serve run inferno.ray:app``."""

# Serve reads the annotation of `app` itself, so that annotations must not be strings here.

import json
from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, create_model
from ray.serve import Application

from ..options import LoadOptions
from .serve import serve_app


def _list(value: Any) -> Any:
    """Splits a list on the command line, whose values are strings."""
    return value.split(",") if isinstance(value, str) else value


def _mapping(value: Any) -> Any:
    """Parses a JSON object on the command line."""
    return json.loads(value) if isinstance(value, str) else value


def _arguments() -> type[BaseModel]:
    """Returns the arguments of `serve_app` as Serve reads them from its command line and its configuration files."""
    fields: dict[str, Any] = {}
    hints = get_type_hints(serve_app)
    for name, parameter in signature(serve_app).parameters.items():
        if parameter.kind is not Parameter.VAR_KEYWORD:
            fields[name] = (hints[name], parameter.default)
    for name in ("api_keys", "allowed_hosts", "allowed_origins"):
        fields[name] = (Annotated[Sequence[str], BeforeValidator(_list)], fields[name][1])
    for name in ("autoscaling", "resources"):
        fields[name] = (Annotated[Mapping[str, Any], BeforeValidator(_mapping)], None)
    fields |= {name: (hint, None) for name, hint in get_type_hints(LoadOptions).items()}
    return create_model("ServeArguments", __config__=ConfigDict(extra="forbid"), **fields)


ServeArguments = _arguments()


def app(arguments: ServeArguments) -> Application:
    """Builds the application for ``serve run inferno.ray:app model=… num_replicas=…``; see `serve_app`."""
    return serve_app(**{name: getattr(arguments, name) for name in arguments.model_fields_set})
