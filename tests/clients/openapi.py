"""Judges the HTTP API of `belljar serve` by its own OpenAPI description, with schemathesis.

Usage: openapi.py BELLJAR FOLDER

FOLDER holds `openapi.toml` as `belljar.toml`. Requests are made from the description, right ones and
wrong ones: none may be answered by a 5xx, and each answer must be one that the description knows.
"""

import os
import subprocess
from pathlib import Path

import judge

SCHEMATHESIS = Path(__file__).resolve().parents[2] / "target/foreign/clients/schemathesis/bin/schemathesis"
OPERATOR = "operator-of-the-tests"
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "ignored_auth",
    "unsupported_method",
]
# Streams without end, of which an HTTP request sees no answer.
STREAMS = ["/v1/events", "/v1/client"]
# The whole run is bounded, each operation too, and a request that hangs is a failure.
MAX_SECONDS = 60
MAX_EXAMPLES = 40
REQUEST_SECONDS = 20
PATIENCE_SECONDS = 240


def main() -> None:
    belljar = judge.arguments()
    with belljar.http() as address:
        command = [str(SCHEMATHESIS), "run", f"{address}/openapi.json", "--url", address]
        command += ["--header", f"Authorization: Bearer {OPERATOR}", "--checks", ",".join(CHECKS)]
        command += [word for path in STREAMS for word in ("--exclude-path", path)]
        command += ["--phases", "examples,coverage,fuzzing", "--max-examples", str(MAX_EXAMPLES)]
        command += ["--max-time", str(MAX_SECONDS), "--request-timeout", str(REQUEST_SECONDS)]
        # The same requests each time, and nothing kept between runs.
        command += ["--generation-deterministic", "--no-color"]
        environment = dict(os.environ, HOME=belljar.folder)
        ran = subprocess.run(command, cwd=belljar.folder, env=environment, timeout=PATIENCE_SECONDS)
        judge.check("the API answers as it describes itself", ran.returncode == 0, ran.returncode)


main()
