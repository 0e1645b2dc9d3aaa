/**
 * One WebSocket per tab, all topics on it. Browsers allow six connections to an HTTP/1.1 server, so a stream per page
 * would leave the seventh tab hanging; sockets do not count.
 */
export interface Told {
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

type Hear = (told: Told) => void;

interface Topic {
  heard: Set<Hear>;
  after: number | undefined;
}

/** Silence of more than this means that the line is dead, whatever the socket says: a beat comes every 15 s. */
const SILENCE = 40_000;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;
/** After so many failed tries it is not a blink any more. */
const OFFLINE_AFTER = 3;

export class Live {
  private socket: WebSocket | undefined;
  private readonly topics = new Map<string, Topic>();
  private readonly listeners = new Set<() => void>();
  private readonly returned = new Set<(away: number) => void>();
  private tries = 0;
  private lostAt = 0;
  private retry: number | undefined;
  private watch: number | undefined;
  private heardAt = 0;
  private resting = false;
  state: LiveState = { kind: "connecting" };

  constructor(private readonly address: () => string) {}

  /** Hear a topic until the returned function is called. `after` is the last number already known. */
  follow(name: string, hear: Hear, after?: number): () => void {
    let topic = this.topics.get(name);
    const fresh = !topic;
    if (!topic) {
      topic = { heard: new Set(), after };
      this.topics.set(name, topic);
    }
    topic.heard.add(hear);
    if (!this.socket && !this.resting && this.retry === undefined) this.open();
    else if (fresh) this.say("subscribe", [name]);
    return () => {
      topic.heard.delete(hear);
      if (topic.heard.size > 0 || this.topics.get(name) !== topic) return;
      this.topics.delete(name);
      this.say("unsubscribe", [name]);
    };
  }

  /** Called after a gap with its length, when the line is back. */
  onReturn(listener: (away: number) => void): () => void {
    this.returned.add(listener);
    return () => this.returned.delete(listener);
  }

  onState(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Try at once instead of waiting: a person pressed the button, or the machine woke up. */
  hurry(): void {
    if (this.state.kind === "live" || !this.retry) return;
    window.clearTimeout(this.retry);
    this.retry = undefined;
    this.open();
  }

  /** Nobody is signed in: knocking would only be refused. What is followed is kept for later. */
  rest(): void {
    if (this.resting) return;
    this.resting = true;
    window.clearTimeout(this.retry);
    window.clearInterval(this.watch);
    this.retry = undefined;
    if (this.socket) {
      this.socket.onclose = null;
      this.socket.close();
      this.socket = undefined;
    }
    this.lostAt ||= Date.now();
    this.become({ kind: "paused" });
  }

  wake(): void {
    if (!this.resting) return;
    this.resting = false;
    this.tries = 0;
    this.open();
  }

  private open(): void {
    this.retry = undefined;
    const socket = new WebSocket(this.address());
    this.socket = socket;
    this.heardAt = Date.now();
    window.clearInterval(this.watch);
    this.watch = window.setInterval(() => this.listen(socket), 5000);
    socket.onopen = () => {
      if (this.socket === socket) this.arrived();
    };
    socket.onmessage = (message) => {
      if (this.socket === socket) this.hear(String(message.data));
    };
    socket.onclose = () => {
      if (this.socket === socket) this.lost();
    };
  }

  private arrived(): void {
    const away = this.lostAt ? Date.now() - this.lostAt : 0;
    this.tries = 0;
    this.lostAt = 0;
    this.become({ kind: "live" });
    this.say("subscribe", [...this.topics.keys()]);
    if (away) for (const tell of this.returned) tell(away);
  }

  private listen(socket: WebSocket): void {
    if (Date.now() - this.heardAt <= SILENCE) return;
    socket.onclose = null;
    socket.close();
    this.lost();
  }

  private lost(): void {
    window.clearInterval(this.watch);
    this.socket = undefined;
    this.lostAt ||= Date.now();
    this.tries += 1;
    // Not all at the same moment: a restarted server would meet every tab at once.
    const wait = Math.min(FIRST_WAIT * 2 ** (this.tries - 1), LONGEST_WAIT) * (0.75 + Math.random() / 2);
    const kind = this.tries > OFFLINE_AFTER ? "offline" : "reconnecting";
    this.become({ kind, at: Date.now() + wait, since: this.lostAt });
    this.retry = window.setTimeout(() => this.open(), wait);
  }

  private hear(text: string): void {
    this.heardAt = Date.now();
    let told: Told;
    try {
      told = JSON.parse(text) as Told;
    } catch {
      return;
    }
    const topic = told.topic ? this.topics.get(told.topic) : undefined;
    if (!topic) return;
    if (typeof told.seq === "number") topic.after = told.seq;
    for (const hear of topic.heard) hear(told);
  }

  private say(op: "subscribe" | "unsubscribe", topics: string[]): void {
    if (!topics.length || this.socket?.readyState !== WebSocket.OPEN) return;
    const after: Record<string, number> = {};
    for (const name of topics) {
      const seen = this.topics.get(name)?.after;
      if (seen !== undefined) after[name] = seen;
    }
    this.socket.send(JSON.stringify(op === "subscribe" ? { op, topics, after } : { op, topics }));
  }

  private become(state: LiveState): void {
    this.state = state;
    for (const tell of this.listeners) tell();
  }
}
