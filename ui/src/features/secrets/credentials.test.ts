import { describe, expect, it } from "vitest";

import { credentialsIn, hostOf, secretName, withSecret } from "./credentials";

const HEADERS = "Authorization: Bearer abc.def:g\nX-Author: ada\nCookie: ***\nX-Api-Key: {{ secret.KEY }}\nAccept: */*";

describe("credentials in headers", () => {
  it("finds those that could be a secret", () => {
    expect(credentialsIn(HEADERS)).toEqual([
      { header: "Authorization", value: "abc.def:g", scheme: "Bearer " },
      { header: "Cookie", value: "", scheme: "" },
    ]);
  });
  it("names a secret in place of one, and leaves the others alone", () => {
    const now = withSecret(HEADERS, "Authorization", "Bearer ", "PARTNER");
    expect(now).toBe(HEADERS.replace("abc.def:g", "{{ secret.PARTNER }}"));
    expect(credentialsIn(now).map((one) => one.header)).toEqual(["Cookie"]);
  });
  it("proposes a host and a name that the server takes", () => {
    expect(hostOf("https://api.partner.com:8443/x?token=***")).toBe("api.partner.com");
    expect(hostOf("https://")).toBe("");
    for (const [host, header] of [
      ["api.partner.com", "X-Api-Key"],
      ["127.0.0.1", "Authorization"],
      ["", "Cookie"],
    ] as const)
      expect(secretName(host, header)).toMatch(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/);
  });
});
