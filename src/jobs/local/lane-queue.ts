/**
 * Queue of the waiting light or heavy jobs. Owners take turns, and each owner's jobs keep the order of submission. A
 * hundred sweeps of one client therefore do not delay the first backtest of another.
 */
export interface LaneQueue {
  readonly length: number;
  /** Returns the number of waiting jobs of one owner. */
  countWaiting(owner: string): number;
  push(owner: string, jobId: string): void;
  /** Puts a job before all other jobs of its owner. */
  unshift(owner: string, jobId: string): void;
  /** Returns the next job that may run. */
  peek(mayRun?: MayRun): string | undefined;
  /** Removes the job that `peek` returns. Its owner moves to the end of the queue. */
  shift(mayRun?: MayRun): string | undefined;
  remove(owner: string, jobId: string): boolean;
}

/** Function that returns true if a job of an owner may run now. */
export type MayRun = (owner: string, jobId: string) => boolean;

const acceptAny = (): boolean => true;

export function createLaneQueue(): LaneQueue {
  const waitingByOwner = new Map<string, string[]>(); // owners in the order of their turns
  let length = 0;

  const add = (owner: string, insert: (list: string[]) => void): void => {
    const jobIds = waitingByOwner.get(owner) ?? [];
    insert(jobIds);
    waitingByOwner.set(owner, jobIds);
    length++;
  };
  const findFirst = (mayRun: MayRun) => {
    for (const [owner, list] of waitingByOwner) {
      const jobId = list.find((candidateId) => mayRun(owner, candidateId));
      if (jobId !== undefined) return { owner, list, jobId };
    }
    return undefined;
  };

  return {
    get length() {
      return length;
    },
    countWaiting: (owner) => waitingByOwner.get(owner)?.length ?? 0,
    push: (owner, jobId) => add(owner, (list) => list.push(jobId)),
    unshift: (owner, jobId) => add(owner, (list) => list.unshift(jobId)),
    peek: (mayRun = acceptAny) => findFirst(mayRun)?.jobId,
    shift(mayRun = acceptAny) {
      const nextJob = findFirst(mayRun);
      if (nextJob === undefined) return undefined;
      const { owner, list, jobId } = nextJob;
      list.splice(list.indexOf(jobId), 1);
      waitingByOwner.delete(owner);
      if (list.length > 0) waitingByOwner.set(owner, list);
      length--;
      return jobId;
    },
    remove(owner, jobId) {
      const jobIds = waitingByOwner.get(owner);
      const position = jobIds?.indexOf(jobId) ?? -1;
      if (jobIds === undefined || position < 0) return false;
      jobIds.splice(position, 1);
      if (jobIds.length === 0) waitingByOwner.delete(owner);
      length--;
      return true;
    },
  };
}
