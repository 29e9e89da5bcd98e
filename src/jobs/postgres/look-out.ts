/** Schedule of a node's looks for work from other processes. */
export interface LookOut {
  /** Number of nodes that look for work. */
  nodes: number;
  pauseMs(): number;
  /** Returns the time until the next look for expired leases. */
  watchPauseMs(): number;
  /** Records the result of the last look. */
  note(isWaiting: boolean): void;
}

/** Maximum rate of looks of all nodes together: each of 300 nodes looks as often as it sends a heartbeat. */
const LOOKS_PER_SECOND = 150;
/** Minimum pause of a single node: the start of a job should not wait longer than its work takes. */
const PAUSE_MS_MIN = 15;
/** Number of looks without work after which the pauses grow. */
const EAGER_LOOKS = 500;
const PAUSE_MS_MAX = 400;

const WATCH_MS = 2000;
/** Number of nodes that each look for leases every two seconds; more nodes share the looks at random times. */
const WATCHING_NODES = 10;
/** Average maximum, for the case that nearly all nodes end at once. */
const WATCH_MS_MAX = 10_000;

/** Looks often while there is work and seldom otherwise, within the capacity of the database. */
export function createLookOut(): LookOut {
  let idle = 0;
  return {
    nodes: 1,
    pauseMs() {
      const share = Math.max(PAUSE_MS_MIN, (this.nodes * 1000) / LOOKS_PER_SECOND);
      return idle < EAGER_LOOKS ? share : Math.max(share, Math.min(PAUSE_MS_MAX, (share * idle) / EAGER_LOOKS));
    },
    watchPauseMs() {
      if (this.nodes <= WATCHING_NODES) return WATCH_MS;
      return 2 * Math.random() * Math.min(WATCH_MS_MAX, (WATCH_MS * this.nodes) / WATCHING_NODES);
    },
    note(isWaiting) {
      idle = isWaiting ? 0 : idle + 1;
    },
  };
}
