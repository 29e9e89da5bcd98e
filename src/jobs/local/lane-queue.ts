/**
 * Jobs that wait for one lane. Owners take turns, each with its jobs in order of submission, so that a hundred sweeps
 * of one client do not precede the first backtest of another.
 */
export interface LaneQueue {
  readonly length: number;
  /** Returns the number of waiting jobs of one owner. */
  lengthOf(owner: string): number;
  push(owner: string, jobId: string): void;
  /** Puts a job before all others of its owner. */
  unshift(owner: string, jobId: string): void;
  /** Returns the next job among the owners that may run one. */
  peek(mayRun?: (owner: string) => boolean): string | undefined;
  /** Removes the job that `peek` returns; its owner moves to the end of the line. */
  shift(mayRun?: (owner: string) => boolean): string | undefined;
  remove(owner: string, jobId: string): boolean;
}

const anyOwner = (): boolean => true;

export function createLaneQueue(): LaneQueue {
  const waitingByOwner = new Map<string, string[]>(); // in order of turns
  let length = 0;

  const add = (owner: string, place: (list: string[]) => void): void => {
    const list = waitingByOwner.get(owner) ?? [];
    place(list);
    waitingByOwner.set(owner, list);
    length++;
  };
  const first = (mayRun: (owner: string) => boolean): [string, string[]] | undefined => {
    for (const turn of waitingByOwner) if (mayRun(turn[0])) return turn;
    return undefined;
  };

  return {
    get length() {
      return length;
    },
    lengthOf: (owner) => waitingByOwner.get(owner)?.length ?? 0,
    push: (owner, jobId) => add(owner, (list) => list.push(jobId)),
    unshift: (owner, jobId) => add(owner, (list) => list.unshift(jobId)),
    peek: (mayRun = anyOwner) => first(mayRun)?.[1][0],
    shift(mayRun = anyOwner) {
      const turn = first(mayRun);
      if (turn === undefined) return undefined;
      const [owner, list] = turn;
      const jobId = list.shift();
      waitingByOwner.delete(owner);
      if (list.length > 0) waitingByOwner.set(owner, list);
      length--;
      return jobId;
    },
    remove(owner, jobId) {
      const list = waitingByOwner.get(owner);
      const place = list?.indexOf(jobId) ?? -1;
      if (list === undefined || place < 0) return false;
      list.splice(place, 1);
      if (list.length === 0) waitingByOwner.delete(owner);
      length--;
      return true;
    },
  };
}
