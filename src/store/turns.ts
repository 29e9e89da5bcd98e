import { findCurrentClient } from './reach.js';

/**
 * Time in ms that the long reads of one client use in a turn of the event loop. Reads of other clients then wait for a few
 * of these times. A document of 1 MB takes 10 to 20 ms and is not divided.
 */
const TURN_MS = 5;

/** Long reads of one client. */
interface Turns {
  usedMs: number;
  /** Continues the reads that wait for a turn, in order of arrival. */
  readonly waiting: (() => void)[];
}

/** Turns of the clients with long reads in this turn of the event loop, or waiting for the next one. */
const turnsByClient = new Map<string | null | undefined, Turns>();

/** Begins the next turn of a client. Only one of its reads continues in it, so that the times of many do not add up. */
function beginTurn(client: string | null | undefined, turns: Turns): void {
  turns.usedMs = 0;
  const continueRead = turns.waiting.shift();
  if (continueRead === undefined) return void turnsByClient.delete(client);
  setImmediate(beginTurn, client, turns);
  continueRead();
}

function openTurns(client: string | null | undefined): Turns {
  const openedTurns = turnsByClient.get(client);
  if (openedTurns !== undefined) return openedTurns;
  const turns: Turns = { usedMs: 0, waiting: [] };
  turnsByClient.set(client, turns);
  setImmediate(beginTurn, client, turns);
  return turns;
}

/**
 * Calls `work` for each item, in as many turns of the event loop as it needs. All calls for one client share its turn.
 * Work of a few milliseconds is done at once. @throws what `work` throws
 */
export async function workInTurns<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  const client = findCurrentClient();
  for (const item of items) {
    let turns = openTurns(client);
    if (turns.usedMs >= TURN_MS) {
      const { waiting } = turns;
      await new Promise<void>((resolve) => waiting.push(resolve));
      turns = openTurns(client);
    }
    const startMs = performance.now();
    work(item);
    turns.usedMs += performance.now() - startMs;
  }
}

/** Maps items as `workInTurns` does. The waits of `work` overlap. @throws the first error of `work` */
export async function mapInTurns<T, R>(items: Iterable<T>, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: Promise<R>[] = [];
  await workInTurns(items, (item) => {
    const result = work(item);
    result.catch(() => undefined); // thrown below
    results.push(result);
  });
  return Promise.all(results);
}
