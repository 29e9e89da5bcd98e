import { Refusal } from '#domain/base/refusals.js';
import { type JobRecord, readJobRecord } from '#jobs/port/life-cycle.js';
import { seeded } from '../../seeded.js';
import { createAgenda, type Agenda } from './agenda.js';

/** A planned failure: the number of the call to a port that fails, counted from 1, and how it fails. */
export interface Fault {
  readonly call: number;
  readonly manner: 'refuse' | 'crash-before' | 'crash-after';
}

/** The simulated environment: time, randomness, disk, and the current process. */
export interface World {
  readonly agenda: Agenda;
  readonly random: () => number;
  /**
   * Draws whether an event of this probability occurs. The result is always false if there are no faults or if a fault
   * is planned.
   */
  chance(probability: number): boolean;
  between(low: number, high: number): number;
  /** Stops the simulation with an error that contains the seed. */
  say(message: string): never;
  /**
   * Executes a call to a port, refuses it, or ends the calling process. @returns true if the calling process still runs
   */
  callPort(action: () => void): boolean;
  /** Runs a function later. It does not run if its process has ended by then. */
  later(owner: number, delayMs: number, run: () => void): () => void;
  recordOnDisk(jobId: string): JobRecord | undefined;
  /**
   * Removes artifacts as the store of the product does. It deletes an artifact together with its last document, or at
   * the next start.
   */
  removeUnowned(names: readonly string[]): void;

  /** Stored documents as JSON, by `kind/id`. */
  readonly disk: Map<string, string>;
  /** Process that wrote each artifact, by artifact name. */
  readonly files: Map<string, number>;
  /** Names of artifacts that a power failure could lose. */
  readonly unsettled: Set<string>;
  readonly fault: Fault | undefined;
  process: number;
  calls: number;
  /** Number of events so far. */
  done: number;
  isKind: boolean;
  mustRestart: boolean;
  isStopping: boolean;
  isDiskChanged: boolean;
  /** First violation of an invariant. It is stored because an error that a task throws would only fail the job. */
  failure: unknown;
}

export function createWorld(seed: number, fault: Fault | undefined): World {
  const random = seeded(seed);
  const agenda = createAgenda();
  const world: World = {
    agenda,
    random,
    chance: (probability) => fault === undefined && !world.isKind && random() < probability,
    between: (low, high) => low + Math.floor(random() * (high - low)),
    say(message) {
      const error = new Error(`${message}\nSEED=${seed} after ${world.done} events`);
      world.failure ??= error;
      throw error;
    },
    callPort(action) {
      world.calls++;
      if (fault?.call === world.calls) {
        if (fault.manner === 'refuse') throw new Refusal('STORAGE_FULL', 'simulated');
        if (fault.manner === 'crash-after') action();
        world.mustRestart = true;
        // From here on the calling process has ended. It receives nothing, and its actions have no effect.
        world.process++;
        return false;
      }
      action();
      return true;
    },
    later: (owner, delayMs, run) =>
      agenda.add(delayMs, () => {
        if (owner === world.process) run();
      }),
    recordOnDisk(jobId) {
      const text = world.disk.get(`job/${jobId}`);
      return text === undefined ? undefined : readJobRecord(JSON.parse(text), jobId);
    },
    removeUnowned(names) {
      if (names.length === 0) return;
      const storedTexts = [...world.disk.values()].join('\n');
      for (const name of names) if (!storedTexts.includes(name)) world.files.delete(name);
    },
    disk: new Map(),
    unsettled: new Set(),
    files: new Map(),
    fault,
    process: 0,
    calls: 0,
    done: 0,
    isKind: false,
    mustRestart: false,
    isStopping: false,
    isDiskChanged: false,
    failure: undefined,
  };
  return world;
}

export interface Payload {
  readonly ident: string;
  /** Permanent identifier of an accepted submission. */
  readonly token: string;
}

export function readToken(job: { readonly request: unknown }): string {
  return (job.request as Payload).token;
}

/**
 * Returns the identifier of an accepted submission. If a token is submitted again after its end, the identifier is new.
 */
export function formatIncarnation(job: { readonly request: unknown; readonly created_at: string }): string {
  return `${readToken(job)}/${job.created_at}`;
}

export function formatJobId(token: string): string {
  return `backtest:${token.split('-')[0]}`;
}
