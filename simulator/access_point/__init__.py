"""A test double of the XiaoZhi cloud's MCP access point, built from the reference only.

The tool side dials; the double is the MCP client. Everything is on loopback over real sockets, and every
duration counts on the event loop's clock (`Timing`, also scaled), so that it works in virtual time.

    async with Cloud() as cloud:
        url = cloud.url(cloud.token(1001))      # give this to the tool side
        session = await cloud.session()         # its first connection; `cloud.session(2)` is the next one
        await session.ready()                   # it has answered `initialize` and `tools/list`
        session.tools["HassTurnOn"]
        answer = await session.call("HassTurnOn", {"name": "lamp"})
        answer.text, answer.failed, answer.timed_out, answer.milliseconds, answer.reply
        assert not session.violations           # binary frames, replies too many, requests, ...

All connections of an agent together: `cloud.agent(1001).tools`, `.call(name, arguments)`, `.sessions`.

Tokens: `cloud.token(1001, valid=seconds | None, issued=time_of_day)`; one with a negative `valid` has
expired, one with None has no `exp`.
`cloud.attempts` lists every upgrade with time, target, headers and status.

Faults while connecting, changed at any time: `cloud.opening.status = 401`.
`Cloud(tls="localhost")` speaks TLS with a certificate that
`cloud.certificates.client_context()` trusts; any other name in `tls` is wrong. `await cloud.stop()` and
`await cloud.start()` restart the server at the same port.

Faults and limits of the cloud: the fields of `cloud.faults` (`CloudFaults`). With `CloudFaults(silent=True)`
the cloud sends nothing by itself, and the test does it: `session.request(method, params, request_id=...)`,
`session.notify`, `session.send(message, text, bytes or fragments)`, `session.replies`. To break a connection:
`session.close(4004)`, `session.drop()` (no close frame), `session.freeze()` (half-open).

`GARBAGE` is a table of frames that no good cloud sends, `odd_calls(tool)` one of parameters of `tools/call`;
each names the outcomes that are right, and `await provoke(session, GARBAGE["batch"].frame)` returns which it
was.

A self-hosted server with its agent; the bugs of the real one are in it:

    async with EndpointServer() as server:
        url = server.url("living room")         # the tool side dials this; nothing comes until an agent does
        await server.wait_registered()
        async with SelfHostedAgent.connected(url) as agent:
            await agent.ready()
            answer = await agent.call("HassTurnOn", {"name": "lamp"})
            answer.spoken                       # the text went to the user and not to the model

`ask(caller, "turn on the lamp")` is a scripted model over `cloud.agent()` or a `SelfHostedAgent`: it finds
the tool by the end of its name, calls it, and returns tool, arguments and answer.

`Cable(server.port)` is a TCP relay: `cable.through(url)` leads through it, `cable.cut()` makes its
connections silent without an end, `cable.mend()` lets new ones pass.
"""

from .agent import SelfHostedAgent
from .answer import Answer, ToolCaller
from .cable import Cable
from .certificates import Certificates
from .cloud import Cloud, CloudAgent, CloudFaults, CloudSession
from .endpoint import EndpointServer
from .garbage import GARBAGE, Garbage, Outcome, odd_calls, provoke
from .link import ABSENT, Frame, Link, LinkClosedError, RawText
from .listener import Attempt, Listener, OpeningFaults
from .model import Spoken, ask
from .timing import Timing
from .tokens import YEAR, CloudKey, EndpointKey, TokenError

__all__ = [
    "ABSENT",
    "GARBAGE",
    "YEAR",
    "Answer",
    "Attempt",
    "Cable",
    "Certificates",
    "Cloud",
    "CloudAgent",
    "CloudFaults",
    "CloudKey",
    "CloudSession",
    "EndpointKey",
    "EndpointServer",
    "Frame",
    "Garbage",
    "Link",
    "LinkClosedError",
    "Listener",
    "OpeningFaults",
    "Outcome",
    "RawText",
    "SelfHostedAgent",
    "Spoken",
    "Timing",
    "TokenError",
    "ToolCaller",
    "ask",
    "odd_calls",
    "provoke",
]
