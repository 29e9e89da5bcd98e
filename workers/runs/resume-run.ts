import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Deserializer, Serializer } from 'node:v8';
import { CHECKPOINT_FORMAT, type RunCheckpoint } from '#domain/backtest/checkpoint.js';
import { countAddedDates, type ExtendedRun, extendRun, isFileFull } from '#domain/backtest/extension.js';
import { limitPlanToDate } from '#domain/backtest/plan.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay } from '#domain/base/time.js';
import { listClosures } from '#domain/calendars/calendar.js';
import type { DecisionSharing } from '#domain/decide/rule-decider.js';
import { createSharedDecisions } from '#domain/decide/shared-decisions.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { CannotResumeError } from '#domain/definition/runs.js';
import type { MarketData } from '#domain/market/market-data.js';
import { listActions, listActionsSince, type MarketHandle } from '#domain/market/market-handle.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import type { CheckedFiles, TaskControl } from '#jobs/tasks/messages.js';
import type { ResumableRun } from '#jobs/tasks/runs.js';
import type { Engine } from '#kernels/engines/engine.js';
import {
  changesEarlierDays,
  comparePrefixes,
  createPrefix,
  findSettledDay,
  type MarketPrefix,
} from '#market/content/content-hash.js';
import { openCachedCalendars, openCachedMarket, openCachedSince } from '../input/markets.js';
import { openModels } from '../input/risk-models.js';
import { hasContent, useRunFile } from '../run-files.js';

/** Values without content after their tag, which is their position here. */
const CONSTANTS: readonly unknown[] = [null, undefined, false, true];
const NUMBER = 4;
const TEXT = 5;
const LIST = 6;
const MAP = 7;
const RECORD = 8;
/** Tag of the first type of `ARRAY_TYPES`. The other types have the next tags. */
const ARRAY = 16;
const ARRAY_TYPES = [Float64Array, Int32Array, Int8Array, Uint8Array] as const;

/**
 * Returns a value as bytes. Equal values with their members in the same order have the same bytes. The bytes of
 * `v8.serialize` also depend on shared references and on the forms in which V8 stores numbers, texts and lists.
 * Optimised code selects other forms, so two equal runs may differ there.
 * @param value numbers, texts, booleans, null, undefined, typed arrays, and lists, maps and plain objects of them
 * @throws TypeError for any other value
 */
export function encodeState(value: unknown): Uint8Array {
  const output = new Serializer();
  writeValue(output, value);
  return output.releaseBuffer();
}

/** Returns the value of bytes from `encodeState`. @throws Error if the bytes have another format */
export function decodeState(bytes: Uint8Array): unknown {
  return readValue(new Deserializer(bytes));
}

function writeValue(output: Serializer, value: unknown): void {
  const constant = CONSTANTS.indexOf(value);
  if (constant >= 0) output.writeUint32(constant);
  else if (typeof value === 'number') writeNumber(output, value);
  else if (typeof value === 'string') writeBytes(output, TEXT, Buffer.from(value, 'utf16le'));
  else if (isStateArray(value)) writeBytes(output, ARRAY + findArrayType(value), value);
  else if (Array.isArray(value)) writeItems(output, LIST, value);
  else if (value instanceof Map) writeItems(output, MAP, [...value].flat());
  else if (isPlainObject(value)) writeItems(output, RECORD, Object.entries(value).flat());
  else throw new TypeError(`A state contains a value without a form: ${String(value)}.`);
}

function writeNumber(output: Serializer, value: number): void {
  output.writeUint32(NUMBER);
  output.writeDouble(Number.isNaN(value) ? Number.NaN : value); // NaN has several bit patterns
}

function writeBytes(output: Serializer, tag: number, bytes: NodeJS.ArrayBufferView): void {
  output.writeUint32(tag);
  output.writeUint32(bytes.byteLength);
  output.writeRawBytes(bytes);
}

function writeItems(output: Serializer, tag: number, items: readonly unknown[]): void {
  output.writeUint32(tag);
  output.writeUint32(items.length);
  for (const item of items) writeValue(output, item);
}

function isStateArray(value: unknown): value is InstanceType<(typeof ARRAY_TYPES)[number]> {
  return findArrayType(value) >= 0;
}

function findArrayType(value: unknown): number {
  return ARRAY_TYPES.findIndex((arrayType) => value instanceof arrayType);
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function readValue(input: Deserializer): unknown {
  const tag = input.readUint32();
  if (tag < CONSTANTS.length) return CONSTANTS[tag];
  if (tag === NUMBER) return input.readDouble();
  const length = input.readUint32();
  if (tag === TEXT) return input.readRawBytes(length).toString('utf16le');
  if (tag === LIST) return readItems(input, length);
  if (tag === MAP) return new Map(readPairs(input, length));
  if (tag === RECORD) return Object.fromEntries(readPairs(input, length));
  const arrayType = ARRAY_TYPES[tag - ARRAY];
  if (arrayType === undefined) throw new Error('The bytes of a state have another format.');
  return new arrayType(new Uint8Array(input.readRawBytes(length)).buffer); // a copy is aligned
}

function readItems(input: Deserializer, count: number): unknown[] {
  const items: unknown[] = [];
  for (let i = 0; i < count; i++) items.push(readValue(input));
  return items;
}

function readPairs(input: Deserializer, count: number): (readonly [string, unknown])[] {
  const pairs: (readonly [string, unknown])[] = [];
  for (let i = 0; i < count; i += 2) pairs.push([readValue(input) as string, readValue(input)]);
  return pairs;
}

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
