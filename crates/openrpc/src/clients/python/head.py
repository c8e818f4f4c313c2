from __future__ import annotations

import itertools
import json
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    Iterable,
    Iterator,
    List,
    Literal,
    Mapping,
    Optional,
    ParamSpec,
    Protocol,
    Sequence,
    TypedDict,
    TypeVar,
    Union,
    cast,
)

Params = Union[Sequence[Any], Mapping[str, Any], None]
_P = ParamSpec("_P")
_T = TypeVar("_T")

