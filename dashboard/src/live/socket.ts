/** One WebSocket that comes back by itself: waits longer after each failure, less when the person asks. */
import type { LiveMessage } from "../api/types";
import { readMessage } from "./validate";

export type Connection = "connecting" | "open" | "lost";

export interface SocketEvents {
  onMessage: (message: LiveMessage) => void;
  /** Something came that is no message of this version; it is dropped. */
  onBadMessage: (problem: string) => void;
  /** `retryAt` is when the next attempt comes (milliseconds since 1970); null while open or connecting. */
  onConnection: (connection: Connection, retryAt: number | null) => void;
  /** The service, or nobody, answered the handshake with no. */
  onRefused: () => void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/** Doubles from half a second to 15 s; jitter keeps many browsers from returning at the same moment. */
export function backOff(failures: number, random: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (0.8 + 0.4 * random);
}

export class LiveSocket {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private failures = 0;
  private wanted = false;

  constructor(
    private readonly address: () => string,
    private readonly events: SocketEvents,
  ) {}

  open(): void {
    this.wanted = true;
    this.connect();
  }

  close(): void {
    this.wanted = false;
    this.clearTimer();
    this.socket?.close();
    this.socket = null;
  }

  /** Tries at once, e.g. because the network is back or a token was given. */
  retryNow(): void {
    if (!this.wanted || this.socket?.readyState === WebSocket.OPEN) return;
    this.failures = 0;
    this.connect();
  }

  private connect(): void {
    this.clearTimer();
    this.socket?.close();
    const socket = new WebSocket(this.address());
    this.socket = socket;
    if (this.failures === 0) this.events.onConnection("connecting", null);
    let opened = false;
    socket.onopen = () => {
      if (socket !== this.socket) return;
      opened = true;
      this.failures = 0;
      this.events.onConnection("open", null);
    };
    socket.onmessage = (event: MessageEvent<string>) => {
      if (socket !== this.socket) return;
      const read = readMessage(event.data);
      if ("message" in read) this.events.onMessage(read.message);
      else this.events.onBadMessage(read.problem);
    };
    socket.onclose = () => {
      if (socket !== this.socket || !this.wanted) return;
      this.scheduleRetry();
      if (!opened) this.events.onRefused();
    };
  }

  private scheduleRetry(): void {
    const wait = backOff(this.failures, Math.random());
    this.failures += 1;
    this.timer = setTimeout(() => this.connect(), wait);
    this.events.onConnection("lost", Date.now() + wait);
  }

  private clearTimer(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}
