"""SSH to switches and hosts: open, run, put, close.

`session` has the one protocol and the values that cross it; `login` who we are; `netmiko_session` (pushing) and
`asyncssh_reader` (reading, thousands at once) speak it, `recorded` plays it back in tests. Libraries are imported
when a connection is opened, not before. A host key that is unknown or has changed is refused before a password or
a command is sent, whichever library carries it.
"""

from fabric.transport.login import Jump, Login
from fabric.transport.session import Answer, Session, Target

__all__ = ["Answer", "Jump", "Login", "Session", "Target"]
