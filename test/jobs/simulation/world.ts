import { Refusal } from '#domain/refusals/refusal.js';
import { readJobRecord, type JobRecord } from '#jobs/job-record.js';
import { seeded } from '../../seeded.js';
import { createAgenda, type Agenda } from './agenda.js';

/** A call to a port, counted from 1, that fails. */
export interface Fault {
  readonly call: number;
  readonly manner: 'refuse' | 'crash-before' | 'crash-after';
}

/** Time, chance, the disk, and the process that lives at the moment. */
export interface World {
  readonly agenda: Agenda;
  readonly random: () => number;
  /** Draws whether an event of this probability occurs: no fault occurs in a kind world, or next to a planned fault. */
  chance(probability: number): boolean;
  between(low: number, high: number): number;
  /** Fails the run with the seed that repeats it. */
  say(message: string): never;
  /** Lets a port's call happen, refuses it, or ends the process around it; returns whether the caller lives to hear of it. */
  callPort(action: () => void): boolean;
  /** Runs something later, should the process still live. */
  later(owner: number, delayMs: number, run: () => void): () => void;
  recordOnDisk(jobId: string): JobRecord | undefined;
  /** The automatic work of the product's store: an artifact is deleted with its last document, or at the next start. */
  removeUnowned(names: readonly string[]): void;

  /** Documents by `kind/id`, as JSON. */
  readonly disk: Map<string, string>;
  /** Name of an artifact -> the process that wrote it. */
  readonly files: Map<string, number>;
  /** Names of artifacts that the end of the machine could take away. */
  readonly unsettled: Set<string>;
  readonly fault: Fault | undefined;
  /** Number of the living process. */
  process: number;
  /** Calls to the ports. */
  calls: number;
  /** Events so far. */
  done: number;
  isKind: boolean;
  mustRestart: boolean;
  isStopping: boolean;
  isDiskChanged: boolean;
  /** The first thing that must not happen: thrown inside of work, it would only fail the job. */
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
        world.process++; // From here on the process that called is dead: nothing reaches it and nothing it does has an effect.
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
      const owned = [...world.disk.values()].join('\n');
      for (const name of names) if (!owned.includes(name)) world.files.delete(name);
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
  /** Names one accepted submission for ever. */
  readonly token: string;
}

export function tokenOf(job: { readonly request: unknown }): string {
  return (job.request as Payload).token;
}

/** One accepted submission: a token that is sent again after its end has another. */
export function incarnationOf(job: { readonly request: unknown; readonly created_at: string }): string {
  return `${tokenOf(job)}/${job.created_at}`;
}

/** The job that a token is of. */
export function jobIdOf(token: string): string {
  return `backtest:${token.split('-')[0]}`;
}
