"""The TypeScript client: its tarball in a scratch project, checked by the compiler and run against a real server."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from clients.typescript import pack
from foliot.app.http import create_app
from tests.client.server import breaking, serving
from tests.client.test_follow import LINES, run_with_log
from tests.services import absent
from tests.world import open_world

pytestmark = pytest.mark.timeout(180)
TSC = pack.UI / "node_modules" / "typescript" / "bin" / "tsc"
CONFIG = {
    "compilerOptions": {
        "strict": True,
        "target": "es2022",
        "module": "nodenext",
        "types": [],
        "lib": ["es2022", "dom"],
        "noUncheckedIndexedAccess": True,
    },
    "include": ["*.ts"],
}
PROGRAM = """\
import { Foliot, FoliotError, type Schedule } from "@foliot/client";

declare const process: { argv: string[] };
const [, , url, cutUrl, runId] = process.argv as [string, string, string, string, string];
const foliot = new Foliot({ url });
const action = { kind: "webhook", url: "https://example.com/hook" };
const created: Schedule = await foliot.post("/api/schedules", {
  body: { name: "From TypeScript", type: "cron", cron_expr: "0 2 * * *", action },
});
const schedule = await foliot.get("/api/schedules/{schedule_id}", { params: { schedule_id: created.id } });
const names: string[] = [];
for await (const each of foliot.items("/api/schedules", { query: { limit: 1 } })) names.push(each.name);
const numbers: number[] = [];
for await (const event of new Foliot({ url: cutUrl }).follow(runId)) numbers.push(event.seq);
let refused: FoliotError | null = null;
try {
  await foliot.post("/api/schedules", { body: { name: "", type: "cron", cron_expr: "x", action } });
} catch (error) {
  if (error instanceof FoliotError) refused = error;
}
await foliot.delete("/api/schedules/{schedule_id}", { params: { schedule_id: schedule.id } });
const fields = refused?.errors.map((error) => error.field);
console.log(JSON.stringify({ name: schedule.name, names, numbers, status: refused?.status, fields }));
"""
WRONG = """\
import { Foliot } from "@foliot/client";

const foliot = new Foliot();
await foliot.get("/api/schedule");
await foliot.get("/api/runs/{run_id}", { params: { id: "run_1" } });
(await foliot.get("/api/runs/{run_id}", { params: { run_id: "run_1" } })).stat;
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has installed the tarball."""
    if not TSC.is_file():
        absent(LookupError("needs the dashboard's compiler: make setup"))
    place = tmp_path_factory.mktemp("typescript")
    tarball = pack.pack(place)
    (place / "package.json").write_text('{"name": "scratch", "private": true, "type": "module"}')
    (place / "tsconfig.json").write_text(json.dumps(CONFIG))
    pack.node(pack.npm(), "install", "--offline", "--no-audit", "--no-fund", tarball, cwd=place)
    (place / "program.ts").write_text(PROGRAM)
    pack.node(TSC, "--project", ".", cwd=place)
    return place


def test_the_package_has_the_version_and_nothing_but_the_client(project: Path) -> None:
    installed = project / "node_modules" / "@foliot" / "client"

    assert json.loads((installed / "package.json").read_text())["version"] == pack.version()
    assert {path.name for path in installed.iterdir()} == {"LICENSE", "README.md", "dist", "package.json"}
    assert {path.name for path in (installed / "dist").iterdir()} >= {"index.js", "index.d.ts", "schema.d.ts"}


def test_the_compiler_finds_wrong_paths_parameters_and_fields(project: Path, tmp_path: Path) -> None:
    (project / "wrong.ts").write_text(WRONG)
    try:
        command = [str(pack._bin() / "node"), str(TSC), "--project", ".", "--noEmit"]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    finally:
        (project / "wrong.ts").unlink()

    lines = {line.partition("(")[2].partition(",")[0] for line in done.stdout.splitlines() if "error" in line}
    assert lines == {"4", "5", "6"}


async def test_a_program_creates_lists_and_follows_over_a_connection_that_is_cut(project: Path) -> None:
    async with open_world() as world:
        run_id = await run_with_log(world)
        async with serving(create_app(world.cases)) as served, breaking(served.url, [40, 700, 3000]) as cut:
            words = ("program.js", served.url, cut, run_id)
            said = json.loads(await asyncio.to_thread(pack.node, *words, cwd=project))

    assert said["name"] == "From TypeScript"
    assert "From TypeScript" in said["names"]
    assert len(said["names"]) == 2
    assert said["numbers"] == list(range(1, len(said["numbers"]) + 1))
    assert len(said["numbers"]) > LINES
    assert said["status"] == 422
    assert set(said["fields"]) >= {"name"}
