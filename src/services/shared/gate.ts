import { Refusal } from '#domain/base/refusals.js';

/** Client that asks for a piece of work, with the signal that stops the work. */
export interface Requester {
  /** Key of the client; null if clients are not distinguished. */
  readonly client: string | null;
  /** Aborted when no caller waits for the work. */
  readonly signal: AbortSignal;
}

/**
 * Function that runs a limited number of tasks at the same time. A limited number of further tasks wait; all others are
 * refused.
 */
export type Gate = <T>(work: () => Promise<T>, asker: Requester) => Promise<T>;

export interface GateOptions {
  /** Plural noun of the work in messages, such as `imports`. */
  readonly name: string;
  readonly runningMax: number;
  readonly waitingMax: number;
  /** Maximum number of running tasks of one client. `clientWaitingMax` limits the waiting tasks. */
  readonly clientRunningMax: number;
  readonly clientWaitingMax: number;
}

interface Waiting {
  readonly client: string | null;
  readonly begin: () => void;
}

/**
 * Creates a gate that limits running and waiting work. One client cannot use all slots: if it has its share, its
 * further work waits even if slots are free.
 * @throws Refusal OVERLOADED (from the gate) if `waitingMax` tasks wait, RATE_LIMITED if the client has its share of
 * waiting work
 */
export function createGate({ name, runningMax, waitingMax, clientRunningMax, clientWaitingMax }: GateOptions): Gate {
  const waitingCalls: Waiting[] = [];
  const runningClients: (string | null)[] = [];

  const mayRun = (client: string | null): boolean =>
    runningClients.length < runningMax && (client === null || countClient(runningClients, client) < clientRunningMax);

  function refuseExcess(client: string | null): void {
    if (waitingCalls.length >= waitingMax) {
      const detail = { waiting: waitingCalls.length, limit: waitingMax };
      throw new Refusal(
        'OVERLOADED',
        `Queue full: ${waitingCalls.length} ${name} waiting (limit ${waitingMax}).`,
        detail,
      );
    }
    const ownWaiting =
      client === null ? 0 : waitingCalls.filter((otherWaiting) => otherWaiting.client === client).length;
    if (client === null || ownWaiting < clientWaitingMax) return;
    const message = `The key has ${countClient(runningClients, client)} ${name} running and ${ownWaiting} waiting (limit ${clientWaitingMax}).`;
    throw new Refusal('RATE_LIMITED', message, { waiting: ownWaiting, limit: clientWaitingMax });
  }

  /** Resolves when the work may begin. @throws the reason of the signal */
  function awaitTurn({ client, signal }: Requester): Promise<void> {
    return new Promise((resolve, reject) => {
      const leaveQueue = (): void => {
        waitingCalls.splice(waitingCalls.indexOf(entry), 1);
        reject(signal.reason);
      };
      const begin = (): void => {
        signal.removeEventListener('abort', leaveQueue);
        runningClients.push(client);
        resolve();
      };
      const entry = { client, begin };
      waitingCalls.push(entry);
      signal.addEventListener('abort', leaveQueue, { once: true });
    });
  }

  function startNextCall(client: string | null): void {
    runningClients.splice(runningClients.indexOf(client), 1);
    const next = waitingCalls.findIndex((entry) => mayRun(entry.client));
    if (next >= 0) waitingCalls.splice(next, 1)[0]!.begin();
  }

  return async (work, requester) => {
    const { client, signal } = requester;
    signal.throwIfAborted();
    if (mayRun(client)) runningClients.push(client);
    else {
      refuseExcess(client);
      await awaitTurn(requester);
    }
    try {
      return await work();
    } finally {
      startNextCall(client);
    }
  };
}

const countClient = (clients: readonly (string | null)[], client: string): number =>
  clients.filter((other) => other === client).length;
