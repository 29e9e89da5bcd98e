import { Refusal } from '#domain/refusals/refusal.js';

/** Lets a few pieces of work run at once and a few more wait their turn; refuses the rest. */
export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * @param name plural noun of the waiting work, as in a message: `imports`
 * @throws Refusal OVERLOADED (from the gate) when `waitingMax` pieces of work wait
 */
export function createGate({
  name,
  runningMax,
  waitingMax,
}: {
  readonly name: string;
  readonly runningMax: number;
  readonly waitingMax: number;
}): Gate {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (work) => {
    if (running < runningMax) running++;
    else {
      if (waiting.length >= waitingMax)
        throw new Refusal('OVERLOADED', `Queue full: ${waiting.length} ${name} waiting (limit ${waitingMax}).`, {
          waiting: waiting.length,
          limit: waitingMax,
        });
      await new Promise<void>((resolve) => waiting.push(resolve)); // Work that ends passes its place on.
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
