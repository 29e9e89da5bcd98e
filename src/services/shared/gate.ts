import { Refusal } from '#domain/base/refusals.js';

/** Client that asks for a piece of work, with the signal that stops the work. */
export interface Requester {
  /** Key of the client; null if clients are not distinguished. */
  readonly client: string | null;
  /** Aborted when no caller waits for the work. */
  readonly signal: AbortSignal;
}

/** Place of running work. The gate can take it back for a while, if its options have `turnMs`. */
export interface Place {
  /**
   * Sets the function that pauses the work (false) and continues it (true). If the place was taken back already, the
   * function is called at once.
   */
  follow(onTurn: (isRunning: boolean) => void): void;
}

/** Thrown by work that lost its progress because of other work. It is started again, and keeps its place then. */
export class Postponed extends Error {
  override readonly name = 'Postponed';
}

/**
 * Function that runs a limited number of tasks at the same time. A limited number of further tasks wait; all others are
 * refused.
 */
export type Gate = <T>(work: (place: Place) => Promise<T>, asker: Requester) => Promise<T>;

interface ReviewedGate extends Gate {
  /** Starts waiting work for which `mayBegin` has become true. */
  review(): void;
}

export interface GateOptions {
  /** Plural noun of the work in messages, such as `imports`. */
  readonly name: string;
  readonly runningMax: number;
  readonly waitingMax: number;
  /** Maximum number of running and paused tasks of one client. `clientWaitingMax` limits the waiting tasks. */
  readonly clientRunningMax: number;
  readonly clientWaitingMax: number;
  /** Number of places that only clients without running work can take. Default: 0. */
  readonly keptPlaces?: number;
  /**
   * Time in ms after which work gives its place to a client that waits and runs nothing. Work beyond the first of a
   * client gives it at once. Default: work keeps its place.
   */
  readonly turnMs?: number;
  /** Returns false while work of a client must wait although there is a place. Default: true. */
  readonly mayBegin?: (client: string | null) => boolean;
}

/** Work that has a place or waits for one. */
interface Entry {
  readonly client: string | null;
  /** Gives the work its place. */
  begin: () => void;
  /** False before the first place of the work. */
  hasBegun: boolean;
  /** True if the work keeps its place until it ends. */
  isLasting: boolean;
  /** Time at which the work received its place or gave it back. */
  sinceMs: number;
  onTurn: ((isRunning: boolean) => void) | undefined;
}

/**
 * Creates a gate that limits running and waiting work. One client cannot use all places: if it has its share, its
 * further work waits even if places are free. Of the waiting clients, the one with the least running work is next.
 * @throws Refusal OVERLOADED (from the gate) if `waitingMax` tasks wait, RATE_LIMITED if the client has its share of
 * waiting work
 */
export function createGate(options: GateOptions): ReviewedGate {
  const { name, runningMax, waitingMax, clientRunningMax, clientWaitingMax } = options;
  const { keptPlaces = 0, turnMs = Infinity, mayBegin = () => true } = options;
  const waiting: Entry[] = [];
  const running: Entry[] = [];
  let turnTimer: NodeJS.Timeout | undefined;

  const countRunning = (client: string | null): number => countClient(running, client);

  /** Returns true unless the client has its share of begun work or no space for more. */
  function mayContinue({ client, hasBegun }: Entry): boolean {
    if (hasBegun) return true;
    const paused = waiting.filter((entry) => entry.hasBegun);
    const ownBegun = client === null ? 0 : countRunning(client) + countClient(paused, client);
    return ownBegun < clientRunningMax && mayBegin(client);
  }

  function mayRun(entry: Entry): boolean {
    const { client } = entry;
    if (running.length >= runningMax || !mayContinue(entry)) return false;
    if (client === null) return true;
    const ownRunning = countRunning(client);
    return ownRunning < clientRunningMax && (ownRunning === 0 || running.length < runningMax - keptPlaces);
  }

  function refuseExcess(client: string | null): void {
    const newEntries = waiting.filter(({ hasBegun }) => !hasBegun);
    if (newEntries.length >= waitingMax) {
      const detail = { waiting: newEntries.length, limit: waitingMax };
      throw new Refusal(
        'OVERLOADED',
        `Queue full: ${newEntries.length} ${name} waiting (limit ${waitingMax}).`,
        detail,
      );
    }
    const ownWaiting = client === null ? 0 : countClient(newEntries, client);
    if (client === null || ownWaiting < clientWaitingMax) return;
    const message = `The key has ${countRunning(client)} ${name} running and ${ownWaiting} waiting (limit ${clientWaitingMax}).`;
    throw new Refusal('RATE_LIMITED', message, { waiting: ownWaiting, limit: clientWaitingMax });
  }

  /** Resolves when the work has a place. @throws the reason of the signal */
  function awaitPlace(entry: Entry, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leaveQueue = (): void => {
        remove(waiting, entry);
        reject(signal.reason);
      };
      entry.begin = () => {
        signal.removeEventListener('abort', leaveQueue);
        resolve();
      };
      waiting.push(entry);
      signal.addEventListener('abort', leaveQueue, { once: true });
      review();
    });
  }

  function give(entry: Entry): void {
    remove(waiting, entry);
    running.push(entry);
    entry.sinceMs = performance.now();
    if (!entry.hasBegun) entry.begin();
    else entry.onTurn?.(true);
    entry.hasBegun = true;
  }

  /** Takes the place of work, which then waits. */
  function takeBack(entry: Entry): void {
    remove(running, entry);
    waiting.push(entry);
    entry.sinceMs = performance.now();
    entry.onTurn?.(false);
  }

  /** Gives places to waiting work until none may run. */
  function review(): void {
    clearTimeout(turnTimer);
    for (let next = findNext(); next !== undefined; next = findNext()) give(next);
  }

  /** Returns the waiting work that may run now, of the client with the least running work, in order of arrival. */
  function findNext(): Entry | undefined {
    return findFirst(waiting.filter(mayRun), ({ client }) => countRunning(client)) ?? findByTurn();
  }

  /**
   * Takes a place back for a client that runs nothing. Paused work waits for a turn before it takes the place of other
   * work. @returns the work that gets the place; undefined if no place can be taken back yet
   */
  function findByTurn(): Entry | undefined {
    if (turnMs === Infinity || running.length < runningMax) return undefined;
    const next = findFirst(
      waiting.filter((entry) => entry.client !== null && countRunning(entry.client) === 0 && mayContinue(entry)),
      ({ hasBegun, sinceMs }) => (hasBegun ? sinceMs : -Infinity),
    );
    const candidates = running.filter(({ isLasting }) => !isLasting);
    const further = candidates.filter(({ client }) => client === null || countRunning(client) > 1);
    const oldest = findFirst(further.length > 0 ? further : candidates, ({ sinceMs }) => sinceMs);
    if (next === undefined || oldest === undefined) return undefined;
    const fromMs = Math.max(
      next.hasBegun ? next.sinceMs + turnMs : 0,
      further.length > 0 ? 0 : oldest.sinceMs + turnMs,
    );
    const remainingMs = fromMs - performance.now();
    if (remainingMs > 0) {
      turnTimer = setTimeout(review, Math.ceil(remainingMs));
      return undefined;
    }
    takeBack(oldest);
    return next;
  }

  const gate = async <T>(work: (place: Place) => Promise<T>, { client, signal }: Requester): Promise<T> => {
    signal.throwIfAborted();
    const entry: Entry = {
      client,
      begin: () => {},
      hasBegun: false,
      isLasting: false,
      sinceMs: 0,
      onTurn: undefined,
    };
    if (mayRun(entry)) give(entry);
    else {
      refuseExcess(client);
      await awaitPlace(entry, signal);
    }
    try {
      for (;;) {
        try {
          return await work({
            follow(onTurn) {
              entry.onTurn = onTurn;
              if (!running.includes(entry)) onTurn(false);
            },
          });
        } catch (failure) {
          if (!(failure instanceof Postponed)) throw failure;
        }
        signal.throwIfAborted();
        leave(entry);
        Object.assign(entry, { hasBegun: false, isLasting: true, onTurn: undefined });
        await awaitPlace(entry, signal);
      }
    } finally {
      leave(entry);
      review();
    }
  };

  function leave(entry: Entry): void {
    remove(running, entry);
    remove(waiting, entry);
  }

  return Object.assign(gate, { review });
}

const countClient = (entries: readonly Entry[], client: string | null): number =>
  entries.filter((entry) => entry.client === client).length;

function findFirst(entries: readonly Entry[], getNumber: (entry: Entry) => number): Entry | undefined {
  return entries.toSorted((a, b) => (getNumber(a) < getNumber(b) ? -1 : Number(getNumber(a) > getNumber(b))))[0];
}

function remove(entries: Entry[], entry: Entry): void {
  const position = entries.indexOf(entry);
  if (position >= 0) entries.splice(position, 1);
}
