import { describe, expect, it } from "vitest";

import { directionOf, nextOrder } from "./order";

describe("the order of a list", () => {
  it("goes from the first direction to the other one, and back to the usual order", () => {
    expect(nextOrder("-duration", "")).toBe("-duration");
    expect(nextOrder("-duration", "name")).toBe("-duration");
    expect(nextOrder("-duration", "-duration")).toBe("duration");
    expect(nextOrder("-duration", "duration")).toBe("");
    expect(nextOrder("name", "name")).toBe("-name");
    expect(nextOrder("name", "-name")).toBe("");
  });

  it("is shown at the column that decides it", () => {
    expect(directionOf("name", "-name")).toBe("desc");
    expect(directionOf("-duration", "duration")).toBe("asc");
    expect(directionOf("name", "")).toBe(false);
  });
});
