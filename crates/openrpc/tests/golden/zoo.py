"""A client for Zoo */ \"\"\" API 2.0.0, made by `switchboard generate python`.

Make it again rather than edit it.

    client = Client("http://127.0.0.1:8000")
"""

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


_AnimalRequired = TypedDict("_AnimalRequired", {"kind": "Literal[\"bird\", \"big-cat\", \"fish\"]", "name": "str"})
_AnimalOptional = TypedDict("_AnimalOptional", {"best friend": "Optional[Animal]", "home": "AnimalHome", "parents": "List[Animal]", "tags": "Dict[str, str]", "type": "Union[str, int]"}, total=False)


class Animal(_AnimalRequired, _AnimalOptional):
    """One that lives in the zoo."""


class AnimalHome(TypedDict):
    x: float
    y: float


AnimalId = int


Event = Union["EventBorn", "EventClosed", "Event3"]


class _Event3Required(TypedDict):
    event: Literal["fed"]


class Event3(_Event3Required, total=False):
    when: int


class EventBorn(TypedDict):
    animal: Animal
    event: Literal["born"]


class _EventClosedRequired(TypedDict):
    event: Literal["closed"]


class EventClosed(_EventClosedRequired, total=False):
    until: Optional[str]


Path = List["Path"]


class Tree(TypedDict):
    left: Union[Tree, int]


class ZooTellAbout(TypedDict, total=False):
    animal: str


class ZooMethods:
    """The methods of `zoo`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def open(self, at: str) -> None:
        """Calls `zoo.open`."""
        self._transport.notify("zoo.open", {"at": at})

    def add_animal(self, animal: Animal, notify_keeper: Optional[bool] = None) -> AnimalId:
        """Adds an animal. */ \"\"\" \\

        It gets an identifier.

        ```
        not a test
        ```

        Errors:
        - 100: The zoo is full
        - 101: No such keeper

        animal: What to add.
        notify_keeper: Whether to tell the keeper.
        """
        return cast("AnimalId", self._transport.call("zoo/add_animal", _names({"animal": animal, "notify-keeper": notify_keeper}, "notify-keeper")))

    def find(self, kind: Literal["bird", "big-cat", "fish"], limit: Optional[int] = None, class_: Optional[str] = None) -> List[Animal]:
        """Calls `zoo/find`.

        limit: How many */ at most.
        """
        return cast("List[Animal]", self._transport.call("zoo/find", _positions([kind, limit, class_], 1)))

    def path(self) -> Path:
        """Calls `zoo/path`.

        Deprecated. Use zoo/tree.
        """
        return cast("Path", self._transport.call("zoo/path", None))

    def tell(self, about: ZooTellAbout) -> str:
        """Calls `zoo/tell`."""
        return cast("str", self._transport.call("zoo/tell", {"about": about}))

    def tell_stream2(self, about: ZooTellAbout) -> Iterator[str]:
        """Calls `zoo/tell`."""
        return cast("Iterator[str]", self._transport.stream("zoo/tell", {"about": about}))

    def tell_stream(self) -> bool:
        """Calls `zoo/tell_stream`."""
        return cast("bool", self._transport.call("zoo/tell_stream", None))

    def tree(self) -> Tree:
        """Calls `zoo/tree`."""
        return cast("Tree", self._transport.call("zoo/tree", None))

    def watch(self) -> Iterator[Event]:
        """Calls `zoo/watch`."""
        return cast("Iterator[Event]", self._transport.stream("zoo/watch", None))


class Client:
    """Calls the methods of the API."""

    def __init__(self, transport: Union[Transport, str]) -> None:
        """Calls over a transport, or over HTTP if it is a URL."""
        self._transport: Transport = HttpTransport(transport) if isinstance(transport, str) else transport
        self.zoo = ZooMethods(self._transport)

    def batch(self) -> Batch:
        """Collects calls to send as one message.

            batch = client.batch()
            one = batch.add(client.one, 1, 2)
            batch.send()
            print(one.result())
        """
        return Batch(self._transport)

    def delete(self) -> None:
        """Calls `Delete`."""
        self._transport.call("Delete", None)

    def batch2(self) -> bool:
        """Calls `batch`."""
        return cast("bool", self._transport.call("batch", None))

    def delete2(self, params: Params = None) -> Any:
        """Calls `delete`."""
        return self._transport.call("delete", params)

    def zoo_subscribe(self) -> Iterator[str]:
        """Calls `zoo_subscribe`."""
        return cast("Iterator[str]", self._transport.stream("zoo_subscribe", None))
