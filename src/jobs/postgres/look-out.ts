/** How often a node looks for work that another process has submitted. */
export interface LookOut {
  /** Nodes that look for work. */
  nodes: number;
  pauseMs(): number;
  /** Time until the next look for leases that ran out. */
  watchPauseMs(): number;
  /** What the last look has shown. */
  note(isWaiting: boolean): void;
}

/** Looks of all nodes together: of 300 each looks as often as it says that it lives. */
const LOOKS_PER_SECOND = 150;
/** A node by itself looks no more often: the start of a job is not to wait longer than that of its work. */
const PAUSE_MS_MIN = 15;
/** After so many looks for nothing, each is longer in coming. */
const EAGER_LOOKS = 500;
const PAUSE_MS_MAX = 400;

const WATCH_MS = 2000;
/** So many nodes each look for leases every two seconds; more share the looks, at times of chance. */
const WATCHING_NODES = 10;
/** On average, should nearly all nodes end at once. */
const WATCH_MS_MAX = 10_000;

/** Often while there is work, seldom while there is none, and never more than the database is there for. */
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
