"""Runs the MCP conformance suite, both frozen sets of requirements, against `belljar serve`.

Usage: suite.py BELLJAR FOLDER

FOLDER holds `belljar.toml` from beside this file and `conformance.wasm`; what the suite saw is left
there too. The last line counts scenarios: those that passed, those that failed, and those in which
nothing failed but what `expected-failures.yml` lists. The exit code is 0 where none failed.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import judge  # noqa: E402

PACKAGES = HERE.parents[2] / "target/foreign/clients"
SUITE = PACKAGES / "npm/node_modules/@modelcontextprotocol/conformance"
REVISIONS = ("2026-07-28", "2025-11-25")
# A revision takes under a minute; each scenario has 30 s in the suite itself.
REVISION_SECONDS = 300


def expected() -> dict[str, set[str] | None]:
    """Scenario → the checks in it that may fail, or nothing where all may. Each entry needs a reason."""
    entries: dict[str, set[str] | None] = {}
    reasoned = False
    for line in (HERE / "expected-failures.yml").read_text().splitlines():
        word = line.strip()
        if word.startswith("- "):
            scenario, _, check = word[2:].partition(":")
            if not reasoned:
                judge.fail(f"expected-failures.yml gives no reason for `{word[2:]}`")
            entries[scenario] = {check} | (entries.get(scenario) or set()) if check else None
        else:
            reasoned = line.startswith("  #")
    return entries


def scored(revision: str) -> list[str]:
    """The server scenarios that the revision requires."""
    text = (SUITE / f"requirements/{revision}.yaml").read_text()
    section = re.search(r"^server:\n((?:  - .*\n)+)", text, re.MULTILINE)
    return re.findall(r"  - (\S+)", section.group(1))


def failing(folder: Path, scenario: str) -> set[str] | None:
    """The checks of a scenario that failed, or nothing where it has left no result."""
    found = [file for file in folder.glob(f"server-{scenario}-*/checks.json") if is_of(file, scenario)]
    if not found:
        return None
    checks = json.loads(found[0].read_text())
    # The suite takes a warning for a failure wherever failures are expected.
    return {check["id"] for check in checks if check["status"] in ("FAILURE", "WARNING")}


def is_of(file: Path, scenario: str) -> bool:
    """Folders end with a time, and some scenarios' names begin with another's."""
    return re.fullmatch(rf"server-{re.escape(scenario)}-\d{{4}}-.*", file.parent.name) is not None


def run(revision: str, address: str, folder: Path) -> tuple[str, bool, set[str]]:
    """The revision's counts in words, whether all is as expected, and the entries that it needed."""
    results = folder / f"results-{revision}"
    command = [str(PACKAGES / "node/node"), str(SUITE / "dist/index.js"), "server", "--url", f"{address}/mcp"]
    command += ["--requirements", revision, "--output-dir", str(results)]
    command += ["--expected-failures", str(HERE / "expected-failures.yml")]
    with open(folder / f"suite-{revision}.txt", "w") as log:
        suite = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, timeout=REVISION_SECONDS)
    entries = expected()
    needed: set[str] = set()
    passed, failed, excused = 0, 0, 0
    for scenario in scored(revision):
        seen = failing(results, scenario)
        allowed = entries.get(scenario, set())
        if seen is not None and not seen and scenario not in entries:
            passed += 1
            continue
        unexpected = {"no result"} if seen is None else set() if allowed is None else seen - allowed
        listed = {scenario} if allowed is None else {f"{scenario}:{check}" for check in allowed & (seen or set())}
        if seen:
            needed |= listed
        if unexpected or not seen:
            failed += 1
            print(f"FAILED {revision} {scenario}: {', '.join(sorted(unexpected)) or 'passes, and is listed as failing'}")
        else:
            excused += 1
            print(f"expected {revision} {scenario}: {', '.join(sorted(seen))}")
    if suite.returncode != 0 and failed == 0:
        failed += 1
        print(f"FAILED {revision}: the suite itself ended with {suite.returncode}")
    if failed:
        print((folder / f"suite-{revision}.txt").read_text()[-4000:])
    return f"{passed} passed, {failed} failed, {excused} expected ({revision})", failed == 0, needed


def main() -> None:
    belljar = judge.arguments()
    counts, fine, needed = [], True, set()
    with belljar.http() as address:
        for revision in REVISIONS:
            words, good, used = run(revision, address, Path(belljar.folder))
            counts.append(words)
            fine &= good
            needed |= used
    entries = {
        entry
        for scenario, checks in expected().items()
        for entry in ([scenario] if checks is None else [f"{scenario}:{check}" for check in checks])
    }
    for entry in sorted(entries - needed):
        fine = False
        print(f"FAILED expected-failures.yml: `{entry}` excuses nothing, so it must go")
    print(f"conformance: {', '.join(counts)}")
    sys.exit(0 if fine else 1)


main()
