import { Globe, type LucideIcon, Network, Newspaper, SquareTerminal, Webhook, Workflow } from "lucide-react";

export interface Template {
  kind: string;
  label: string;
  says: string;
  icon: LucideIcon;
  /** The default trigger, in natural language. */
  words: string;
  name: string;
}

/** The templates that a new schedule starts from, one per kind of action. */
export const TEMPLATES: readonly Template[] = [
  {
    kind: "webhook",
    label: "Call a webhook",
    says: "Send an HTTP request, signed and retried",
    icon: Webhook,
    words: "every hour",
    name: "my-webhook",
  },
  {
    kind: "crawl",
    label: "Crawl a site",
    says: "Run a spider on Scrapyd and keep what it finds",
    icon: Globe,
    words: "every day at 02:30",
    name: "daily-prices",
  },
  {
    kind: "articles",
    label: "Fetch articles",
    says: "Read pages politely, extract title and text",
    icon: Newspaper,
    words: "every day at 07:00",
    name: "morning-articles",
  },
  {
    kind: "pipeline",
    label: "Run a pipeline",
    says: "A chain of steps from a YAML file",
    icon: Workflow,
    words: "every day at 06:00",
    name: "daily-pipeline",
  },
  {
    kind: "task",
    label: "Run a task",
    says: "A registered Python function",
    icon: SquareTerminal,
    words: "every sunday at 03:00",
    name: "weekly-cleanup",
  },
  {
    kind: "grpc",
    label: "Call a gRPC method",
    says: "By server reflection, with a deadline",
    icon: Network,
    words: "every hour",
    name: "hourly-call",
  },
];
