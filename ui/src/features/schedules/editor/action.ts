/** The action of a schedule as the editor's inputs hold it, and back to the document that the server takes. */
import type { ActionConfig } from "@/api/schema";
import { InputReader, type Inputs, textOf } from "@/parts/form/actionKind";

import { ACTION_KINDS, UNKNOWN_KIND } from "./actionKinds";

export interface ActionInputs {
  kind: string;
  inputs: Inputs;
  /** Fields of the document that have no input: kept as they are. */
  rest: Record<string, unknown>;
}

export interface ActionDocument {
  action: ActionConfig;
  /** What cannot be sent at all, by the field it belongs to: text that is not JSON. */
  errors: Record<string, string>;
}

const kindOf = (kind: string) => ACTION_KINDS[kind] ?? UNKNOWN_KIND;

export const blankAction = (kind: string, echoUrl: string | null): ActionInputs => ({
  kind,
  inputs: kindOf(kind).blank(echoUrl),
  rest: {},
});

/** The inputs that show this action. */
export function inputsOf({ kind, ...config }: ActionConfig): ActionInputs {
  const { blank, read } = kindOf(kind);
  const names = Object.keys(blank(null));
  const inputs = { ...Object.fromEntries(names.map((name) => [name, textOf(config[name])])), ...read?.(config) };
  const known = kind in ACTION_KINDS;
  const rest = known ? Object.fromEntries(Object.entries(config).filter(([name]) => !names.includes(name))) : {};
  return { kind, inputs, rest };
}

/** The document for these inputs. What is empty is left out, so that the server's defaults apply. */
export function actionOf({ kind, inputs, rest }: ActionInputs): ActionDocument {
  const reader = new InputReader(inputs);
  const fields = { ...rest, ...kindOf(kind).write(reader) };
  const given = Object.entries(fields).filter(([name, value]) => name !== "kind" && value !== undefined);
  return { action: { kind, ...Object.fromEntries(given) }, errors: reader.errors };
}
