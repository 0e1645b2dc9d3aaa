import type { AlertRule, AlertRuleRequest, ChannelKind } from "@/api/schema";

export interface ChannelSetting {
  name: string;
  label: string;
  hint?: string;
  secret?: boolean;
  optional?: boolean;
  value?: string;
  /** Whether it shares its row with the next or the one before. */
  half?: boolean;
  /** The only values it can have, and their words. */
  choices?: readonly (readonly [string, string])[];
}

const HOOK: ChannelSetting[] = [{ name: "url", label: "Webhook URL", secret: true }];
const BASE: ChannelSetting = {
  name: "base_url",
  label: "Server",
  hint: "Only for a self-hosted server.",
  optional: true,
};

/** The settings of each kind of channel, as the API names them. */
export const CHANNEL_KINDS: Record<ChannelKind, { label: string; settings: ChannelSetting[] }> = {
  email: {
    label: "E-mail",
    settings: [
      { name: "to", label: "To", hint: "Separate addresses with commas." },
      { name: "from", label: "From" },
      { name: "host", label: "SMTP server" },
      { name: "port", label: "Port", value: "587", half: true },
      {
        name: "tls",
        label: "Encryption",
        value: "starttls",
        half: true,
        choices: [
          ["starttls", "STARTTLS"],
          ["tls", "TLS from the start"],
          ["none", "none"],
        ],
      },
      { name: "username", label: "User name", optional: true, half: true },
      { name: "password", label: "Password", secret: true, optional: true, half: true },
    ],
  },
  slack: { label: "Slack", settings: HOOK },
  discord: { label: "Discord", settings: HOOK },
  teams: { label: "Microsoft Teams", settings: HOOK },
  webhook: {
    label: "Webhook",
    settings: [
      { name: "url", label: "URL" },
      {
        name: "secret",
        label: "Signing secret",
        hint: "Standard Webhooks format: whsec_…",
        secret: true,
        optional: true,
      },
    ],
  },
  telegram: {
    label: "Telegram",
    settings: [{ name: "token", label: "Bot token", secret: true }, { name: "chat_id", label: "Chat ID" }, BASE],
  },
  pagerduty: { label: "PagerDuty", settings: [{ name: "routing_key", label: "Routing key", secret: true }, BASE] },
  opsgenie: { label: "Opsgenie", settings: [{ name: "api_key", label: "API key", secret: true }, BASE] },
  ntfy: {
    label: "ntfy",
    settings: [
      { name: "url", label: "Topic URL", hint: "https://ntfy.sh/my-topic" },
      { name: "token", label: "Access token", secret: true, optional: true },
    ],
  },
  gotify: {
    label: "Gotify",
    settings: [
      { name: "url", label: "Server" },
      { name: "token", label: "Application token", secret: true },
    ],
  },
  apprise: { label: "Apprise URL", settings: [{ name: "url", label: "URL", secret: true }] },
};

/** The settings of a form as the API takes them: empty ones left out, numbers and lists as such. */
export function configOf(kind: ChannelKind, typed: Record<string, string>): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  for (const setting of CHANNEL_KINDS[kind].settings) {
    const text = (typed[setting.name] ?? setting.value ?? "").trim();
    if (!text) continue;
    if (setting.name === "port") config[setting.name] = /^\d+$/.test(text) ? Number(text) : text;
    else if (setting.name === "to") config[setting.name] = text.split(",").map((part) => part.trim());
    else config[setting.name] = text;
  }
  return config;
}

/** The settings of a channel as a form shows them. Credentials are masked: one that is left so stays as it is. */
export function typedOf(config: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
  );
}

/** "3 failures in a row", "5 failures within 1h". */
export function threshold(after: AlertRule["after"]): string {
  if ("count" in after) return `${String(after.count)} failures within ${String(after.within)}`;
  return after.in_a_row === 1 ? "every failure" : `${String(after.in_a_row)} failures in a row`;
}

/** A threshold as it is typed: "3", or "5 within 1h". */
export function thresholdText(after: AlertRule["after"]): string {
  return "count" in after ? `${String(after.count)} within ${String(after.within)}` : String(after.in_a_row);
}

/** The threshold that a text asks for; what cannot be read is left to the server to refuse. */
export function thresholdOf(text: string): AlertRuleRequest["after"] {
  const found = /^\s*(\d+)(?:\s+within\s+(\S+))?\s*$/.exec(text);
  if (!found) return { count: 0, within: text };
  const [, number, within] = found;
  return within ? { count: Number(number), within } : { in_a_row: Number(number) };
}
