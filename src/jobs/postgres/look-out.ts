/** Schedule of a node's polls for work from other processes. */
export interface PollSchedule {
  /** Number of nodes that poll for work. */
  nodes: number;
  pauseMs(): number;
  /** Returns the time until the next check for expired leases. */
  watchPauseMs(): number;
  /** Records the result of the last poll. */
  note(isWaiting: boolean): void;
}

/**
 * Maximum number of polls per second of all nodes together. With 300 nodes, each node polls as often as it sends a
 * heartbeat.
 */
const LOOKS_PER_SECOND = 150;
/** Minimum pause between polls of a single node. A job should not wait longer for its start than its work takes. */
const PAUSE_MS_MIN = 15;
/** Number of polls without work after which the pauses grow. */
const EAGER_LOOKS = 500;
const PAUSE_MS_MAX = 400;

const WATCH_MS = 2000;
/**
 * Number of nodes that each check leases every two seconds. If there are more nodes, the checks are distributed over
 * all nodes at random times.
 */
const WATCHING_NODES = 10;
/** Maximum average pause between checks. It applies if nearly all nodes end at once. */
const WATCH_MS_MAX = 10_000;

/**
 * Creates a schedule that polls often while there is work, and seldom otherwise. The total rate stays within the
 * capacity of the database.
 */
export function createPollSchedule(): PollSchedule {
  let idleLooks = 0;
  return {
    nodes: 1,
    pauseMs() {
      const share = Math.max(PAUSE_MS_MIN, (this.nodes * 1000) / LOOKS_PER_SECOND);
      return idleLooks < EAGER_LOOKS
        ? share
        : Math.max(share, Math.min(PAUSE_MS_MAX, (share * idleLooks) / EAGER_LOOKS));
    },
    watchPauseMs() {
      if (this.nodes <= WATCHING_NODES) return WATCH_MS;
      return 2 * Math.random() * Math.min(WATCH_MS_MAX, (WATCH_MS * this.nodes) / WATCHING_NODES);
    },
    note(isWaiting) {
      idleLooks = isWaiting ? 0 : idleLooks + 1;
    },
  };
}
