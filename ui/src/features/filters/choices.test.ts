import { expect, test } from "vitest";

import { choicesOf } from "./choices";
import { SCHEDULE_FIELDS } from "./fields";
import { tokenAt } from "./grammar";

const suggestion = (value: string) => ({ field: "tag", value, label: value, hint: "" });

const offered = (text: string, known: string[], stale: boolean): string[] => {
  const token = tokenAt(text, text.length);
  const field = SCHEDULE_FIELDS.find((one) => one.key === token.key);
  return choicesOf(token, SCHEDULE_FIELDS, field, known.map(suggestion), stale).map((choice) => choice.text);
};

test("suggestions for fewer letters are offered as far as they contain all that are typed", () => {
  const known = ["nightly", "prices", "spare parts"];

  expect(offered("tag:p", known, false)).toEqual(["nightly", "prices", '"spare parts"']);
  expect(offered("tag:pr", known, true)).toEqual(["prices"]);
  expect(offered('tag:"spare p', known, true)).toEqual(['"spare parts"']);
});

test("keys and the values of a closed list begin with what is typed", () => {
  expect(offered("sta", [], false)).toEqual(["status:"]);
  expect(offered("-sta", [], false)).toEqual(["-status:"]);
  expect(offered("status:p", [], true)).toEqual(["paused"]);
});
