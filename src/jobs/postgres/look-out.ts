/** How often a node looks for work that another process has submitted. */
export interface LookOut {
  /** Nodes that look for work. */
  nodes: number;
  pauseMs(): number;
  /** What the last look has shown. */
  note(isWaiting: boolean): void;
}

/** Looks of all nodes together: 200 a second cost PostgreSQL a few hundredths of a processor. */
const LOOKS_PER_SECOND = 200;
/** A node by itself looks no more often: the start of a job is not to wait longer than that of its work. */
const PAUSE_MS_MIN = 15;
/** After so many looks for nothing, each is longer in coming. */
const EAGER_LOOKS = 500;
const PAUSE_MS_MAX = 400;

/** Often while there is work, seldom while there is none, and never more than the database is there for. */
export function createLookOut(): LookOut {
  let idle = 0;
  return {
    nodes: 1,
    pauseMs() {
      const share = Math.max(PAUSE_MS_MIN, (this.nodes * 1000) / LOOKS_PER_SECOND);
      return idle < EAGER_LOOKS ? share : Math.max(share, Math.min(PAUSE_MS_MAX, (share * idle) / EAGER_LOOKS));
    },
    note(isWaiting) {
      idle = isWaiting ? 0 : idle + 1;
    },
  };
}
