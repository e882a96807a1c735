"""A plugin in Python for the tests: each function shows one shape of argument,
result or failure. It must not know that belljar exists, since what the tests
prove is that a component of the stock toolchain is a plugin.
"""

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.tools import Tone, Visitor, Welcome

# The toolchain imports this module once while it builds and keeps the memory, so
# a call that sees anything but 0 here shares its instance with another call.
calls = 0

MAX_S64 = 2**63 - 1
MIN_S64 = -(2**63)


class Tools(exports.Tools):
    # A function whose type is a result fails by raising the error's value.
    def reverse(self, text: str) -> str:
        if text == "":
            raise Err("the text is empty")
        return text[::-1]

    def greet(self, visitor: Visitor) -> Welcome:
        hail = "Hi" if visitor.tone == Tone.CASUAL else "Good day"
        return Welcome(
            greeting=" ".join([f"{hail}, {visitor.name}", *visitor.tags]),
            adult=visitor.age >= 18,
            tag_count=len(visitor.tags),
        )

    def count_bytes(self, length: int) -> bytes:
        return bytes(index % 256 for index in range(length))

    def add(self, left: int, right: int) -> int:
        total = left + right
        if not MIN_S64 <= total <= MAX_S64:
            raise Err(f"{total} does not fit in 64 bits")
        return total

    def next_number(self) -> int:
        global calls
        calls += 1
        return calls

    def read_text(self, path: str) -> str:
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except (OSError, ValueError) as error:
            raise Err(f"cannot read {path}: {error}") from error

    def throw(self, message: str) -> str:
        raise RuntimeError(message)

    def spin(self) -> int:
        global calls
        while True:
            calls += 1
