import { Refusal } from '#domain/refusals/refusal.js';

/** Client of a piece of work, with the signal that ends the work. */
export interface Asker {
  /** Key of the client; null if clients are not distinguished. */
  readonly client: string | null;
  /** Aborted when no caller waits for the work any more. */
  readonly signal: AbortSignal;
}

/** Function that runs a limited number of tasks concurrently, lets a limited number wait, and refuses all others. */
export type Gate = <T>(work: () => Promise<T>, asker: Asker) => Promise<T>;

export interface GateOptions {
  /** Plural noun of the work in messages, such as `imports`. */
  readonly name: string;
  readonly runningMax: number;
  readonly waitingMax: number;
  /** Maximum number of running tasks of one client; `clientWaitingMax` limits its waiting tasks. */
  readonly clientRunningMax: number;
  readonly clientWaitingMax: number;
}

interface Waiting {
  readonly client: string | null;
  readonly begin: () => void;
}

/**
 * Creates a gate that limits running and waiting work. One client cannot occupy all slots: work beyond its share waits
 * even if slots are free.
 * @throws Refusal OVERLOADED (from the gate) if `waitingMax` tasks wait, RATE_LIMITED if the client has its share of
 * waiting work
 */
export function createGate({ name, runningMax, waitingMax, clientRunningMax, clientWaitingMax }: GateOptions): Gate {
  const waiting: Waiting[] = [];
  const running: (string | null)[] = [];

  const mayRun = (client: string | null): boolean =>
    running.length < runningMax && (client === null || countClient(running, client) < clientRunningMax);

  function refuseMore(client: string | null): void {
    if (waiting.length >= waitingMax) {
      const detail = { waiting: waiting.length, limit: waitingMax };
      throw new Refusal('OVERLOADED', `Queue full: ${waiting.length} ${name} waiting (limit ${waitingMax}).`, detail);
    }
    const ownWaiting = client === null ? 0 : waiting.filter((otherWaiting) => otherWaiting.client === client).length;
    if (client === null || ownWaiting < clientWaitingMax) return;
    const message = `The key has ${countClient(running, client)} ${name} running and ${ownWaiting} waiting (limit ${clientWaitingMax}).`;
    throw new Refusal('RATE_LIMITED', message, { waiting: ownWaiting, limit: clientWaitingMax });
  }

  /** Resolves when the work may begin. @throws the reason of the signal */
  function awaitTurn({ client, signal }: Asker): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.splice(waiting.indexOf(entry), 1);
        reject(signal.reason);
      };
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        running.push(client);
        resolve();
      };
      const entry = { client, begin };
      waiting.push(entry);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  function startNext(client: string | null): void {
    running.splice(running.indexOf(client), 1);
    const next = waiting.findIndex((entry) => mayRun(entry.client));
    if (next >= 0) waiting.splice(next, 1)[0]!.begin();
  }

  return async (work, asker) => {
    const { client, signal } = asker;
    signal.throwIfAborted();
    if (mayRun(client)) running.push(client);
    else {
      refuseMore(client);
      await awaitTurn(asker);
    }
    try {
      return await work();
    } finally {
      startNext(client);
    }
  };
}

const countClient = (clients: readonly (string | null)[], client: string): number =>
  clients.filter((other) => other === client).length;
