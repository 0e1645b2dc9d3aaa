import { describe, expect, it } from "vitest";

import { pingLines } from "./pingLines";

describe("lines that ping a monitor", () => {
  it("name the address, and for runitor the server and the key", () => {
    const lines = pingLines("https://foliot.example/base/ping/1d2c").map(([, text]) => text);
    expect(lines[0]).toBe("curl -fsS -m 10 --retry 5 -o /dev/null https://foliot.example/base/ping/1d2c");
    expect(lines[1]).toContain("https://foliot.example/base/ping/1d2c/$?");
    expect(lines.at(-1)).toBe("runitor -api-url https://foliot.example/base/ping -uuid 1d2c -- /usr/local/bin/backup");
  });
});
