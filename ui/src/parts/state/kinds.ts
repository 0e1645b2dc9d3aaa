import {
  Eye,
  Globe,
  HeartPulse,
  type LucideIcon,
  Network,
  Newspaper,
  SquareTerminal,
  Terminal,
  Webhook,
  Workflow,
  Zap,
} from "lucide-react";

/** The kinds of action, with label and icon. */
export const KINDS: Record<string, { label: string; icon: LucideIcon }> = {
  webhook: { label: "webhook", icon: Webhook },
  crawl: { label: "crawl", icon: Globe },
  articles: { label: "articles", icon: Newspaper },
  pipeline: { label: "pipeline", icon: Workflow },
  task: { label: "task", icon: SquareTerminal },
  celery: { label: "Celery task", icon: Zap },
  command: { label: "command", icon: Terminal },
  watch: { label: "watch", icon: Eye },
  monitor: { label: "monitor", icon: HeartPulse },
  grpc: { label: "gRPC call", icon: Network },
};

export const kindOf = (kind: string): { label: string; icon: LucideIcon } => KINDS[kind] ?? { label: kind, icon: Zap };
