/**
 * One WebSocket per tab for all topics. Browsers allow six connections to an HTTP/1.1 server, so a stream per page
 * would block the seventh tab; sockets do not count.
 */
export interface LiveMessage {
  topic: string;
  type: "snapshot" | "changed" | "event" | "lines" | "end" | "gone";
  seq?: number | null;
  data?: unknown;
}

export type LiveState =
  | { kind: "live" }
  | { kind: "connecting" }
  | { kind: "paused" }
  | { kind: "reconnecting"; at: number; since: number }
  | { kind: "offline"; at: number; since: number };

type Listener = (message: LiveMessage) => void;

interface Topic {
  listeners: Set<Listener>;
  after: number | undefined;
}

/** The connection counts as dead after this much silence, for the server sends a heartbeat every 15 s. */
const SILENCE = 40_000;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;
/** After so many failed attempts the state is `offline`. */
const OFFLINE_AFTER = 3;

export class Live {
  private socket: WebSocket | undefined;
  private readonly topics = new Map<string, Topic>();
  private readonly listeners = new Set<() => void>();
  private readonly reconnected = new Set<(away: number) => void>();
  private tries = 0;
  private lostAt = 0;
  private retry: number | undefined;
  private silenceTimer: number | undefined;
  private receivedAt = 0;
  private paused = false;
  state: LiveState = { kind: "connecting" };

  constructor(private readonly address: () => string) {}

  /** Subscribes until the returned function is called. `after` is the last sequence number already known. */
  follow(name: string, listener: Listener, after?: number): () => void {
    let topic = this.topics.get(name);
    const added = !topic;
    if (!topic) {
      topic = { listeners: new Set(), after };
      this.topics.set(name, topic);
    }
    topic.listeners.add(listener);
    if (!this.socket && !this.paused && this.retry === undefined) this.open();
    else if (added) this.send("subscribe", [name]);
    return () => {
      topic.listeners.delete(listener);
      if (topic.listeners.size > 0 || this.topics.get(name) !== topic) return;
      this.topics.delete(name);
      this.send("unsubscribe", [name]);
    };
  }

  /** Called after a reconnect, with the length of the gap. */
  onReconnect(listener: (away: number) => void): () => void {
    this.reconnected.add(listener);
    return () => this.reconnected.delete(listener);
  }

  onState(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Reconnects at once instead of waiting: on a press of the button, or when the machine wakes up. */
  reconnectNow(): void {
    if (this.state.kind === "live" || !this.retry) return;
    window.clearTimeout(this.retry);
    this.retry = undefined;
    this.open();
  }

  /** Closes the connection while the session has ended; subscriptions are kept for later. */
  pause(): void {
    if (this.paused) return;
    this.paused = true;
    window.clearTimeout(this.retry);
    window.clearInterval(this.silenceTimer);
    this.retry = undefined;
    if (this.socket) {
      this.socket.onclose = null;
      this.socket.close();
      this.socket = undefined;
    }
    this.lostAt ||= Date.now();
    this.setState({ kind: "paused" });
  }

  resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.tries = 0;
    this.open();
  }

  private open(): void {
    this.retry = undefined;
    const socket = new WebSocket(this.address());
    this.socket = socket;
    this.receivedAt = Date.now();
    window.clearInterval(this.silenceTimer);
    this.silenceTimer = window.setInterval(() => this.checkSilence(socket), 5000);
    socket.onopen = () => {
      if (this.socket === socket) this.onOpen();
    };
    socket.onmessage = (message) => {
      if (this.socket === socket) this.receive(String(message.data));
    };
    socket.onclose = () => {
      if (this.socket === socket) this.onLost();
    };
  }

  private onOpen(): void {
    const away = this.lostAt ? Date.now() - this.lostAt : 0;
    this.tries = 0;
    this.lostAt = 0;
    this.setState({ kind: "live" });
    this.send("subscribe", [...this.topics.keys()]);
    if (away) for (const listener of this.reconnected) listener(away);
  }

  private checkSilence(socket: WebSocket): void {
    if (Date.now() - this.receivedAt <= SILENCE) return;
    socket.onclose = null;
    socket.close();
    this.onLost();
  }

  private onLost(): void {
    window.clearInterval(this.silenceTimer);
    this.socket = undefined;
    this.lostAt ||= Date.now();
    this.tries += 1;
    // Jitter: otherwise all tabs would reconnect to a restarted server at once.
    const wait = Math.min(FIRST_WAIT * 2 ** (this.tries - 1), LONGEST_WAIT) * (0.75 + Math.random() / 2);
    const kind = this.tries > OFFLINE_AFTER ? "offline" : "reconnecting";
    this.setState({ kind, at: Date.now() + wait, since: this.lostAt });
    this.retry = window.setTimeout(() => this.open(), wait);
  }

  private receive(text: string): void {
    this.receivedAt = Date.now();
    let message: LiveMessage;
    try {
      message = JSON.parse(text) as LiveMessage;
    } catch {
      return;
    }
    const topic = message.topic ? this.topics.get(message.topic) : undefined;
    if (!topic) return;
    if (typeof message.seq === "number") topic.after = message.seq;
    for (const listener of topic.listeners) listener(message);
  }

  private send(op: "subscribe" | "unsubscribe", topics: string[]): void {
    if (!topics.length || this.socket?.readyState !== WebSocket.OPEN) return;
    const after: Record<string, number> = {};
    for (const name of topics) {
      const seen = this.topics.get(name)?.after;
      if (seen !== undefined) after[name] = seen;
    }
    this.socket.send(JSON.stringify(op === "subscribe" ? { op, topics, after } : { op, topics }));
  }

  private setState(state: LiveState): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}
