"""Cancelling with the Python package `mcp` 1.x, which tells a server nothing when its own task is
cancelled: the notification is sent by hand. Judges nothing.
"""

from typing import Any, Awaitable, Callable

import anyio
from mcp import ClientSession, types


async def cancelled(
    session: ClientSession, call: Callable[..., Awaitable[Any]], *words: Any, started: Callable[[], Awaitable[None]]
) -> None:
    """Begins a call of this session, which must be its next request, and cancels it once it started."""
    request = session._request_id
    async with anyio.create_task_group() as group:
        group.start_soon(call, *words)
        await started()
        params = types.CancelledNotificationParams(requestId=request, reason="nobody waits")
        notification = types.CancelledNotification(params=params)
        await session.send_notification(types.ClientNotification(notification))
        group.cancel_scope.cancel()
