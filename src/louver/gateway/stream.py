"""What an HTTP upstream says on one stream of events, which may go on over several responses.

    id: 7, retry: 500            after which event, and when, it can be taken up again
    data: {notification}         heard; the next event waits until it was
    data: {request}              asked; nothing waits
    data: {answer}               to the request that the stream is for: what is looked for

Anything else is counted and dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.errors import UpstreamError
from louver.gateway import wire
from louver.limits import UPSTREAM_RETRY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.link import Params
    from louver.gateway.questions import Questions
    from louver.gateway.response import Response
    from louver.gateway.sse import Event
    from louver.gateway.stray import Strays
    from louver.gateway.wire import Message


class Stream:
    """One stream.

    Args:
        number: The id of the request that it is for; `None` for that of a session.
        heard: Gets the notifications.
        questions: Gets the requests.
        strays: Counts what is for nobody.
    """

    def __init__(
        self,
        number: int | None,
        heard: Callable[[str, Params], Awaitable[None]],
        questions: Questions,
        strays: Strays,
    ) -> None:
        self.last: str | None = None
        self.retry_s = UPSTREAM_RETRY_SECONDS
        self.events = 0
        self.is_answered = False
        """Whether the answer has come, be it one that cannot be read."""
        self._number = number
        self._heard = heard
        self._questions = questions
        self._strays = strays

    async def answer(self, response: Response) -> Message | None:
        """The answer to the request; `None` when the response ends without.

        Raises:
            UpstreamInvalidOutput: The answer is not strictly JSON.
            UpstreamTooLarge: An event is too large.
        """
        while (event := await response.event()) is not None:
            self._note(event)
            if event.data and event.type == "message" and (answer := await self._take(event.data)) is not None:
                return answer
        return None

    def is_answer(self, message: Message) -> bool:
        """Whether it answers the request. What was refused before it was read has no id."""
        if message.method is not None or self._number is None:
            return False
        return message.id == self._number or (message.id is None and "error" in message.body)

    def _note(self, event: Event) -> None:
        self.events += 1
        self.last = self.last if event.id is None else event.id or None
        self.retry_s = self.retry_s if event.retry_s is None else event.retry_s

    async def _take(self, data: bytes) -> Message | None:
        try:
            message = await wire.read_aside(data)
        except UpstreamError:
            if self._number is not None and wire.answered(data) == self._number:
                self.is_answered = True
                raise
            self._strays.add("an event that is no message")
            return None
        if self.is_answer(message):
            self.is_answered = True
            return message
        if message.method is None:
            self._strays.add("an answer that nobody waits for")
        elif message.id is not None:
            if not self._questions.put(message):
                self._strays.add("a question that is open already, or one too many")
        elif message.method == "notifications/cancelled":
            self._questions.take_back(message.params)
        else:
            await self._heard(message.method, message.params)
        return None
