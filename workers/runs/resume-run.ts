import { listClosures } from '#domain/calendars/closures.js';
import { formatDay } from '#domain/time/days.js';
import { limitPlanToDate } from '#domain/backtest/plan-through.js';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CHECKPOINT_FORMAT, type RunCheckpoint } from '#domain/backtest/extend/checkpoint.js';
import { isFileFull, countAddedDates } from '#domain/backtest/extend/extend-columns.js';
import { extendRun, type ExtendedRun } from '#domain/backtest/extend/extend-run.js';
import { CannotResumeError } from '#domain/documents/full-run-reasons.js';
import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import { createSharedDecisions } from '#domain/rules/shared-decisions.js';
import type { DecisionSharing } from '#domain/rules/decide.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { listActions, listActionsSince, type MarketHandle } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { CheckedFiles } from '#jobs/tasks/files.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import type { ResumableRun } from '#jobs/tasks/runs.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import {
  comparePrefixes,
  createPrefix,
  changesEarlierDays,
  findSettledDay,
  type MarketPrefix,
} from '#market/content/prefix.js';
import type { Engine } from '#kernels/engines/engine.js';
import { hasContent } from '../run-files/checked-files.js';
import { openCachedMarket, openCachedSince } from '../input/open-markets.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openModels } from '../input/opened-models.js';
import { useRunFile } from '../run-files/run-file.js';
import { decodeState, encodeState } from './state-bytes.js';

/** State of a run from which the run can be extended. It is stored next to the columns of the run. */
export interface CheckpointFile {
  readonly format: number;
  /** SHA-256 over plan and engine version, without the end of the request. */
  readonly identity: string;
  /** Hashes of the market data up to the last date of the run. */
  readonly prefix: MarketPrefix;
  readonly checkpoint: RunCheckpoint;
}

/**
 * Returns the identity of a run that a longer run may extend. It covers all inputs up to the last day of the run,
 * except the market and the end.
 */
function computeIdentity(plan: BacktestPlan, engineVersion: string, { day }: Pick<RunCheckpoint, 'day'>): string {
  const { request, ...rest } = limitPlanToDate(plan, formatDay(day));
  return createHash('sha256')
    .update(toCanonicalJson({ ...rest, request: { ...request, end: null }, engineVersion, format: CHECKPOINT_FORMAT }))
    .digest('hex');
}

export interface StateInput {
  readonly plan: BacktestPlan;
  readonly engineVersion: string;
  readonly handle: MarketHandle;
  readonly market: MarketData;
  readonly checkpoint: RunCheckpoint;
}

/** Returns the state of a run as bytes. Returns null if the market has no hashes of its parts. */
export function encodeCheckpoint({ plan, engineVersion, handle, market, checkpoint }: StateInput): Uint8Array | null {
  if (handle.digests === undefined) return null;
  const state: CheckpointFile = {
    format: CHECKPOINT_FORMAT,
    identity: computeIdentity(plan, engineVersion, checkpoint),
    prefix: createPrefix(market, handle.digests, checkpoint.day),
    checkpoint,
  };
  return encodeState(state);
}

export interface ResumedRun extends ExtendedRun {
  /** Checkpoint of the run as bytes. */
  readonly state: Uint8Array | null;
}

export interface ResumeOrder {
  readonly engine: Engine;
  readonly handle: MarketHandle;
  readonly plan: BacktestPlan;
  readonly models?: ModelFiles | undefined;
  readonly engineVersion: string;
  readonly run: ResumableRun;
  readonly checkedFiles?: CheckedFiles | undefined;
}

/**
 * Extends the stored run by later sessions.
 * @throws CannotResumeError
 * @throws Refusal like the full run
 */
export function resumeStored(order: ResumeOrder, control: TaskControl): ResumedRun {
  const { engine, handle, plan, models, engineVersion, run } = order;
  assertIntact(order, control);
  const state = readState(run);
  if (state.identity !== computeIdentity(plan, engineVersion, state.checkpoint))
    throw new CannotResumeError('no_checkpoint');
  if (handle.digests === undefined) throw new CannotResumeError('no_checkpoint');
  const { checkpoint } = state;
  const sinceDay = Math.min(checkpoint.since, findSettledDay({ dates: new Int32Array(handle.dates) }, checkpoint.day));
  const market = openCachedSince(handle, sinceDay);
  const prefixChange = comparePrefixes(createPrefix(market, handle.digests, checkpoint.day), state.prefix);
  if (prefixChange !== null)
    throw new CannotResumeError(prefixChange === 'names' ? 'names_changed' : 'history_changed');
  if (changesEarlierDays(market, checkpoint.day)) throw new CannotResumeError('history_changed');
  return readOrGiveUp(() =>
    useRunFile(run.columns, (stored) => {
      const extendedRun = extendRun({
        plan,
        checkpoint,
        stored,
        market,
        calendars: openCachedCalendars(listClosures(plan.documents)),
        marketSince: (day) => (day >= sinceDay ? market : addCashSince(handle, market, day)),
        wholeMarket: () => openCachedMarket(handle),
        models: openModels(models),
        createDecider: createIndexDeciders(engine, findSharing(market)),
        engine,
        report: (fraction, message) => control.report(0.8 * fraction, message),
        fileNames: run.fileNames,
        actionsOf: (columns) => listActions(handle, columns),
        contentHash: handle.contentHash,
      });
      const { checkpoint: next } = extendedRun;
      return { ...extendedRun, state: encodeCheckpoint({ plan, engineVersion, handle, market, checkpoint: next }) };
    }),
  );
}

/**
 * Maximum number of cached values for a market: securities times cross-sections. Runs that are extended on the same day
 * read the same cross-sections.
 */
const SECTION_NAMES_MAX = 1 << 17;

const sharingByMarket = new WeakMap<MarketData, DecisionSharing>();

function findSharing(market: MarketData): DecisionSharing {
  const decisionSharing = sharingByMarket.get(market) ?? createSharedDecisions(SECTION_NAMES_MAX, 0);
  sharingByMarket.set(market, decisionSharing);
  return decisionSharing;
}

/** Market that includes cash paid after an earlier day. It is kept for the day that was requested last. */
const latestMarkets = new WeakMap<MarketData, MarketData>();

function addCashSince(handle: MarketHandle, market: MarketData, day: number): MarketData {
  const marketData = latestMarkets.get(market);
  if (marketData?.settledTo === day) return marketData;
  const extendedMarket = { ...market, actions: listActionsSince(handle, day), settledTo: day };
  latestMarkets.set(market, extendedMarket);
  return extendedMarket;
}

/** Runs a read. If a stored file is unreadable, a full run follows. */
function readOrGiveUp<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw thrown instanceof Refusal && thrown.code === 'DOCUMENT_UNREADABLE'
      ? new CannotResumeError('no_checkpoint')
      : thrown;
  }
}

/**
 * Verifies the stored files, because a copy of a damaged file would get a new valid hash. An extension copies few
 * columns, so that a file of copied columns is always hashed.
 * @throws CannotResumeError
 * @cost one read of the files that this process has neither written nor hashed, and of files modified since
 */
function assertIntact({ run: { checked, columns }, checkedFiles }: ResumeOrder, control: TaskControl): void {
  const isRunFileFull = (): boolean =>
    readOrGiveUp(() => useRunFile(columns, (stored) => isFileFull(countAddedDates(stored))));
  for (const file of checked) {
    const isUnchanged = (): boolean => file.path !== columns || isRunFileFull();
    if (!hasContent(file, checkedFiles, () => control.report(0), isUnchanged))
      throw new CannotResumeError('no_checkpoint');
  }
}

function readState({ checkpoint }: ResumableRun): CheckpointFile {
  const bytes = readChecked(checkpoint);
  try {
    const state = decodeState(bytes) as CheckpointFile; // the matching hash proves that encodeCheckpoint wrote it
    if (state.format === CHECKPOINT_FORMAT) return state;
  } catch {
    // another version wrote the checkpoint
  }
  throw new CannotResumeError('no_checkpoint');
}

/** Reads a file and verifies its hash. @throws CannotResumeError if the file is missing or its content has changed */
function readChecked({ path, sha256 }: ResumableRun['checkpoint']): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch {
    throw new CannotResumeError('no_checkpoint');
  }
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw new CannotResumeError('no_checkpoint');
  return bytes;
}
