import { finished, processorTime, type RunningService } from '../service.js';
import type { Done, PythonPeer } from './python-peer.js';

/** The panels that both sides read: a folder of float64 files, and the store of the service with the same values. */
export interface SharedMarket {
  readonly folder: string;
  readonly names: number;
  readonly sessions: number;
  /** ISO dates of the sessions, ascending. */
  readonly dates: readonly string[];
}

/** A work that service and peer do, from the same numbers to numbers that must agree. */
export interface Work {
  readonly name: string;
  /** Turns of either side. */
  readonly pairs: number;
  /** Turns before these in which both sides compile and fill their caches. */
  readonly untimed: number;
  /** Most of the peer's processor time that the service may take; null where none is set. */
  readonly limit: number | null;
  /** Maximum time on two free cores, ms of the processor and by the clock. Default: no limit. */
  readonly goal?: { readonly processor?: number; readonly wall?: number };
  /** Most that an answer may differ from the peer's, relative to it. */
  readonly tolerance: number;
  /** The module without which the peer cannot do it. */
  readonly needs: 'numpy' | 'pandas' | 'cvxopt';
  /** Creates the required documents, and the request for the peer. */
  prepare(service: RunningService, market: SharedMarket): Promise<object>;
  /**
   * Changes the inputs before a turn, untimed, so that its outcome is new, and returns the change of the peer's
   * request.
   */
  vary?(service: RunningService, market: SharedMarket, turn: number): Promise<object>;
  /** Once, from submitted to finished. */
  run(service: RunningService): Promise<void>;
  answer(service: RunningService): Promise<readonly number[]>;
}

/**
 * The cost of the work in the service: every thread of its process counts. @param isRead true when its answer is read
 * afterwards
 */
export async function byService(work: Work, service: RunningService, isRead: boolean): Promise<Done> {
  const [processor, wall] = [processorTime(service), performance.now()];
  await work.run(service);
  const done = { wall: performance.now() - wall, processor: processorTime(service) - processor };
  return { ...done, answer: isRead ? await work.answer(service) : [] };
}

export function byPeer(peer: PythonPeer, { folder, names, sessions }: SharedMarket, request: object): Promise<Done> {
  return peer.ask({ folder, names, sessions, ...request });
}

export async function get<T>({ url }: RunningService, path: string): Promise<T> {
  return checked<T>(await fetch(url + path));
}

export async function send<T>({ url }: RunningService, method: string, path: string, body: unknown): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  return checked<T>(await fetch(url + path, { method, headers, body: JSON.stringify(body) }));
}

/** Sends a request that makes a job and waits for its success. */
export async function job(service: RunningService, path: string, body: unknown): Promise<void> {
  const { job_id: id } = await send<{ readonly job_id: string }>(service, 'POST', path, body);
  await finished(service, id);
}

async function checked<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.url} answers ${answer.status}: ${text}`);
  return JSON.parse(text) as T; // The service's own answer.
}
