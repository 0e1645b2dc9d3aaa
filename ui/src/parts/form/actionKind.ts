/** What a feature tells the schedule editor about its kind of action. */
import type { ReactNode } from "react";

import { type Parsed, parseObject } from "./json";

/** The texts of an action's inputs, by the names of its fields. */
export type Inputs = Record<string, string>;

export interface ActionFormProps {
  kind: string;
  inputs: Inputs;
  onChange: (inputs: Inputs) => void;
}

export interface ActionKind {
  /** The inputs of a new schedule, one for each field that the form shows; `echoUrl` is a receiver to try it with. */
  blank: (echoUrl: string | null) => Inputs;
  /** The inputs that are more than the text of their field, such as JSON or a list of lines. */
  read?: (config: Readonly<Record<string, unknown>>) => Inputs;
  /** The fields of the request; an undefined one is left out, so that the server's default applies. */
  write: (reader: InputReader) => Record<string, unknown>;
  Form: (props: ActionFormProps) => ReactNode;
}

/** Reads inputs into fields and collects what cannot be sent, by the name that the server gives the field. */
export class InputReader {
  readonly errors: Record<string, string> = {};

  constructor(private readonly inputs: Inputs) {}

  text(name: string): string | undefined {
    return this.inputs[name]?.trim() || undefined;
  }

  lines(name: string): string[] {
    return (this.text(name) ?? "")
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
  }

  number(name: string): number | string | undefined {
    return numberOf(this.text(name) ?? "");
  }

  object(name: string): Record<string, unknown> | undefined {
    const value = this.parsed(name, parseObject);
    return this.text(name) ? value : undefined;
  }

  parsed<T>(name: string, parse: (text: string) => Parsed<T>): T | undefined {
    const { value, error } = parse(this.text(name) ?? "");
    if (error) this.errors[`action.${name}`] = error;
    return value;
  }
}

/** A number, or the text itself: the server says what is wrong with it. */
export const numberOf = (text: string): number | string | undefined =>
  text === "" ? undefined : Number.isNaN(Number(text)) ? text : Number(text);

export const textOf = (value: unknown): string => (value === undefined || value === null ? "" : String(value));

/** A value as indented JSON; nothing and an empty object leave the input empty. */
export const jsonOf = (value: unknown): string => {
  if (value === undefined || value === null) return "";
  return typeof value === "object" && Object.keys(value).length === 0 ? "" : JSON.stringify(value, null, 2);
};

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
