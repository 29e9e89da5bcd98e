import { formatDay, parseValidDay } from '#domain/base/time.js';
import { Refusal } from '#domain/base/refusals.js';
import { findFirstAtLeast } from '#domain/base/numbers.js';
import { divideSimulation, type SimulationRequest } from '#domain/analytics/simulation.js';
import type { SimulationPayload } from '#domain/outputs/jobs.js';
import { createJobKind, type JobKind } from '#jobs/port/job-kind.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { Context } from '../shared/context.js';
import { assertNotDeleted } from '../shared/jobs.js';
import { assertUndamaged, createPayload, getColumns, type RequestedRun, requireRun } from '../shared/run-documents.js';
import { findIndex } from '../indices/documents.js';

export interface Simulations {
  /** Ensures that a run exists. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND; `simulate` throws these too */
  assertRun(name: RequestedRun): Promise<void>;
  /**
   * Queues a simulation.
   * @throws Refusal CALENDAR_NOT_COVERED, NO_DATA_SOURCE, STORE_MISMATCH, JOB_RUNNING, OVERLOADED
   */
  simulate(name: RequestedRun, request: SimulationRequest, origin: JobOrigin | null): Promise<JobStatus>;
}

/** Share of the progress that remains after all paths are drawn. */
const SUMMING = 0.05;

/**
 * Creates the kind of job that runs simulations. Paths are drawn in parts; other nodes can draw parts, and their
 * results are bit-identical.
 */
export function createSimulationJob({
  documents,
  artifacts,
  markets,
  states,
  workers,
}: Context): JobKind<SimulationPayload> {
  async function createOrder({ run_id: runId, which_run: id, request, calendar }: SimulationPayload) {
    const run = await requireRun(documents, { subject: runId, id });
    await assertUndamaged(artifacts, run);
    const readsMarket = request.method === 'gaussian_factor';
    if (readsMarket) await markets.settled();
    const market = readsMarket ? (await states.requireMarket(run)).identity : null;
    return { columns: getColumns(run), request, calendar, market };
  }

  return createJobKind(
    'simulate',
    async (payload, attempt) => {
      const { run_id: runId, request, dates } = payload;
      await assertNotDeleted(documents, runId, 'simulation');
      const order = await createOrder(payload);
      const writtenParts = await attempt.inParts({
        count: divideSimulation(request).length - 1,
        atOnce: 2 * workers,
        share: 1 - SUMMING,
        async here(part, share) {
          const outputs = attempt.outputs(['tallies']);
          return (await attempt.compute('simulate-part', { ...order, parts: [part], outputs }, share)).tallies;
        },
      });
      const files = writtenParts.map(({ artifact: { name, sha256 }, parts }) => ({ artifact: name, sha256, parts }));
      const sum = { ...order, files, runId, dates, outputs: attempt.outputs(['view']) };
      const { view } = await attempt.compute('sum-simulation', sum, SUMMING);
      return {
        result: { artifact: view },
        effect: (tx) => assertNotDeleted(tx, runId, 'simulation'),
      };
    },
    async (payload, parts, attempt) => {
      const outputs = attempt.outputs(['tallies']);
      const { tallies } = await attempt.compute('simulate-part', { ...(await createOrder(payload)), parts, outputs });
      return { result: { artifact: tallies } };
    },
  );
}

export function createSimulations(
  { documents, jobs, states, calendars }: Context,
  kind: JobKind<SimulationPayload>,
): Simulations {
  /** Returns the sessions of the run's calendar after its last date. */
  async function listSessionsAhead(
    name: RequestedRun,
    horizon: number,
  ): Promise<{ readonly calendar: string; readonly dates: readonly string[] }> {
    const run = await requireRun(documents, name);
    const code = (await findIndex(documents, run.index_id))?.calendar ?? '';
    const calendar = calendars.get(code);
    if (calendar === undefined)
      throw new Refusal(
        'INDEX_NOT_FOUND',
        `The index ${run.index_id} of the run is not stored; its calendar is needed for the sessions ahead.`,
        { index_id: run.index_id },
      );
    const from = findFirstAtLeast(calendar.sessions, parseValidDay(run.end) + 1);
    const aheadDays = calendar.sessions.subarray(from, from + horizon);
    if (aheadDays.length < horizon) {
      throw new Refusal(
        'CALENDAR_NOT_COVERED',
        `The calendar ${code} knows ${aheadDays.length} sessions after ${run.end}; the horizon is ${horizon}.`,
        { calendar: code, sessions: aheadDays.length },
      );
    }
    return { calendar: code, dates: Array.from(aheadDays, formatDay) };
  }

  return {
    assertRun: async (name) => void (await requireRun(documents, name)),
    async simulate(name, simulationRequest, origin) {
      const request = { ...simulationRequest, percentiles: [...new Set(simulationRequest.percentiles)] }; // the distinct columns of a table
      const sessionsAhead = await listSessionsAhead(name, request.horizon);
      if (request.method === 'gaussian_factor') await states.requireMarket(await requireRun(documents, name));
      return jobs.submit({
        kind,
        payload: { ...createPayload(name), request, ...sessionsAhead },
        request,
        estimatedBytes: estimateBytes(request),
        origin,
      });
    },
  };
}

/** Estimates the memory of a simulation in bytes: the results of each path with copies for sorting, and the counts. */
function estimateBytes({ paths }: SimulationRequest): number {
  return 128 * 2 ** 20 + 64 * paths;
}
