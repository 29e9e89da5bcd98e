import type { Numbers } from '../../base/numbers.js';
import { formatDay } from '../../base/time.js';
import { findRecordDifference, REBALANCES } from '../record.js';
import type { AnyBlock, Axis, BlockComparison } from './block.js';
import { BLOCK_NAMES, type BlockName, findBlock } from './blocks.js';
import { formatMember, HEADER, HEADER_MEMBERS, type RunHeader } from './header.js';
import { readRebalances, readRecord, type RunColumns } from './columns.js';

/** Number of low mantissa bits that are rounded away, so that sums of a few differences are exact. */
const ROUNDED_BITS = 4;
const MANTISSA_BITS = 53;

/**
 * Rounds numbers to a common grid. The step of the grid is 2^-48 of the largest power of two up to the largest
 * magnitude, so differences, and sums of a few differences in any order, are exact.
 */
export function roundToCommonGrid(values: readonly number[]): number[] {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (largest === 0) return [...values];
  const step = 2 ** (Math.floor(Math.log2(largest)) + 1 - (MANTISSA_BITS - ROUNDED_BITS));
  return values.map((value) => Math.round(value / step) * step);
}

/** Levels of a run: dates and values, [T]. */
export interface DatedLevels {
  readonly days: Int32Array;
  readonly level: Float64Array;
}

export interface LevelsDifference {
  /** First date that only one of the runs has, or on which the levels differ. Null if the levels are equal. */
  readonly firstDifference: string | null;
  /**
   * Common date with the largest relative difference, and both levels. Null if the levels of all common dates are
   * equal.
   */
  readonly largest: { readonly date: string; readonly from: number; readonly to: number } | null;
}

/** Compares the levels of two runs bit for bit. */
export function findLevelsDifference(from: DatedLevels, to: DatedLevels): LevelsDifference {
  let first: number | null = null;
  let largest: { readonly day: number; readonly from: number; readonly to: number; readonly by: number } | null = null;
  const recordDifference = (day: number): void => {
    first ??= day;
  };
  for (let i = 0, k = 0; i < from.days.length || k < to.days.length;) {
    const day = Math.min(from.days[i] ?? Infinity, to.days[k] ?? Infinity);
    const isCommon = from.days[i] === day && to.days[k] === day;
    if (!isCommon) recordDifference(day);
    else if (!Object.is(from.level[i], to.level[k])) {
      recordDifference(day);
      const relativeDifference = Math.abs(to.level[k]! / from.level[i]! - 1);
      if (largest === null || relativeDifference > largest.by)
        largest = { day, from: from.level[i]!, to: to.level[k]!, by: relativeDifference };
    }
    if (from.days[i] === day) i++;
    if (to.days[k] === day) k++;
  }
  return {
    firstDifference: first === null ? null : formatDay(first),
    largest: largest === null ? null : { date: formatDay(largest.day), from: largest.from, to: largest.to },
  };
}

/** First difference between two runs. */
export interface RunDifference {
  /** Name of the block of the run file, member of its header, or field of the record. */
  readonly part: string;
  /** Date of the difference, YYYY-MM-DD; null if the difference has no date. */
  readonly date: string | null;
  /** Security of the difference; null if it concerns the whole run. */
  readonly name: string | null;
  readonly stored: number | string | null;
  readonly replayed: number | string | null;
}

interface RunPair {
  readonly stored: RunColumns;
  readonly replayed: RunColumns;
}

/**
 * Finds the earliest difference between two stored runs. The layout of the files does not count. Returns null if the
 * runs are bit-identical. An extended run differs from its shorter original on the first additional date.
 * @cost one pass over both
 */
export function findFirstDifference(stored: RunColumns, replayed: RunColumns): RunDifference | null {
  const pair = { stored, replayed };
  return (
    findSecuritiesDifference(stored.header, replayed.header) ??
    findEarliestDifference(pair) ??
    findInBlocks(pair, 'days', findDaysDifference) ??
    findHeadersDifference(stored.header, replayed.header) ??
    findMissingBlock(pair) ??
    findInBlocks(pair, 'other days', findDaysDifference) ??
    findInBlocks(pair, 'element', findElementsDifference) ??
    findInBlocks(pair, 'content', findContentDifference) ??
    findRecordDifferenceOfRuns(pair) ??
    findRebalancesDifference(pair)
  );
}

/** Reports different securities first, because the elements of such runs cannot be compared. */
function findSecuritiesDifference({ names }: RunHeader, { names: others }: RunHeader): RunDifference | null {
  const position = names.findIndex((name, i) => name !== others[i]);
  if (position < 0 && names.length === others.length) return null;
  const firstDifference = position < 0 ? names.length : position;
  return {
    part: 'names',
    date: null,
    name: null,
    stored: names[firstDifference] ?? null,
    replayed: others[firstDifference] ?? null,
  };
}

/** Returns the blocks with one kind of comparison, causes first. */
function listBlocksComparedBy(by: BlockComparison['by']): BlockName[] {
  return BLOCK_NAMES.filter((name) => findBlock(name).compare.by === by).toSorted(
    (a, b) => readRank(findBlock(a)) - readRank(findBlock(b)),
  );
}

function readRank({ compare }: AnyBlock): number {
  return 'rank' in compare ? compare.rank : 0;
}

/** Finds the first difference among the blocks that both runs have and that are compared in one way. */
function findInBlocks(
  { stored, replayed }: RunPair,
  by: BlockComparison['by'],
  differ: (name: BlockName, pair: RunPair) => RunDifference | null,
): RunDifference | null {
  for (const name of listBlocksComparedBy(by)) {
    if (!stored.has(name) || !replayed.has(name)) continue;
    const result = differ(name, { stored, replayed });
    if (result) return result;
  }
  return null;
}

function findEarliestDifference(pair: RunPair): RunDifference | null {
  let first: DatedDifference | null = null;
  for (const name of listBlocksComparedBy('date')) {
    if (!pair.stored.has(name) || !pair.replayed.has(name)) continue;
    const result = findDatedDifference(name, pair);
    if (result && (first === null || result.day < first.day)) first = result;
  }
  return first?.difference ?? null;
}

interface DatedDifference {
  readonly day: number;
  readonly difference: RunDifference;
}

function findDatedDifference(name: BlockName, { stored, replayed }: RunPair): DatedDifference | null {
  const { axes } = findBlock(name);
  const days = listSharedDays(axes[0]!, { stored, replayed });
  const columns = axes[1] === 'names' ? stored.header.names : [null];
  const a = readValues(stored, name);
  const b = readValues(replayed, name);
  for (let t = 0; t < days.length; t++) {
    for (let n = 0; n < columns.length; n++) {
      const storedValue = a[t * columns.length + n]!;
      const replayedValue = b[t * columns.length + n]!;
      if (Object.is(storedValue, replayedValue)) continue;
      return {
        day: days[t]!,
        difference: {
          part: name,
          date: formatDay(days[t]!),
          name: columns[n]!,
          stored: toJsonNumber(storedValue),
          replayed: toJsonNumber(replayedValue),
        },
      };
    }
  }
  return null;
}

function listSharedDays(axis: Axis, { stored, replayed }: RunPair): Int32Array {
  const { header } = stored;
  const replayedHeader = replayed.header;
  switch (axis) {
    case 'dates':
      return stored.i32('days').subarray(0, Math.min(header.dates, replayedHeader.dates));
    case 'index dates':
      return stored.i32('indexDays').subarray(0, Math.min(header.index_dates, replayedHeader.index_dates));
    case 'rebalances': {
      const days = stored.i32('days');
      return Int32Array.from(
        header.rebalances.slice(0, replayedHeader.rebalances.length),
        ({ at }) => days[Math.max(0, at)]!,
      );
    }
    default:
      throw new Error(`${axis} have no days`);
  }
}

function readValues(columns: RunColumns, name: BlockName): Numbers {
  return columns[findBlock(name).type](name);
}

function findDaysDifference(name: BlockName, { stored, replayed }: RunPair): RunDifference | null {
  const a = stored.i32(name);
  const b = replayed.i32(name);
  const position = a.findIndex((day, i) => day !== b[i]);
  if (position < 0 && a.length === b.length) return null;
  const firstDifference = position < 0 ? a.length : position;
  const formatDayOrNull = (day: number | undefined): string | null => (day === undefined ? null : formatDay(day));
  return {
    part: name,
    date: formatDayOrNull(a[firstDifference] ?? b[firstDifference]),
    name: null,
    stored: formatDayOrNull(a[firstDifference]),
    replayed: formatDayOrNull(b[firstDifference]),
  };
}

const COMPARED_MEMBERS = HEADER_MEMBERS.filter((member) => HEADER[member].compared !== null).toSorted(
  (a, b) => (HEADER[a].compared ?? 0) - (HEADER[b].compared ?? 0),
);

function findHeadersDifference(stored: RunHeader, replayed: RunHeader): RunDifference | null {
  for (const member of COMPARED_MEMBERS) {
    const a = formatMember(stored, member);
    const b = formatMember(replayed, member);
    if (a !== b)
      return { part: member, date: null, name: null, stored: a.slice(0, TEXT_MAX), replayed: b.slice(0, TEXT_MAX) };
  }
  return null;
}

/** Maximum number of characters of a header member in a message. */
const TEXT_MAX = 200;

/** Finds the first block that only one of the runs has. Ignores blocks that earlier versions did not write. */
function findMissingBlock({ stored, replayed }: RunPair): RunDifference | null {
  const name = BLOCK_NAMES.find((block) => {
    const { compare, upgrade } = findBlock(block);
    const isOlder = upgrade === 'absent' && !(stored.has(block) && replayed.has(block));
    return compare.by !== 'layout' && !isOlder && stored.has(block) !== replayed.has(block);
  });
  return name === undefined ? null : { part: name, date: null, name: null, stored: null, replayed: null };
}

function findElementsDifference(name: BlockName, { stored, replayed }: RunPair): RunDifference | null {
  const a = upgradeValues(stored, name);
  const b = upgradeValues(replayed, name);
  const longer = Math.max(a.length, b.length);
  for (let i = 0; i < longer; i++) {
    if (!Object.is(a[i], b[i]))
      return { part: name, date: null, name: null, stored: toJsonNumber(a[i]), replayed: toJsonNumber(b[i]) };
  }
  return null;
}

function upgradeValues(columns: RunColumns, name: BlockName): Numbers {
  const { upgrade } = findBlock(name);
  return typeof upgrade === 'function' ? upgrade(columns) : readValues(columns, name);
}

function findContentDifference(name: BlockName, { stored, replayed }: RunPair): RunDifference | null {
  const [was, is] = [readValues(stored, name), readValues(replayed, name)];
  const isSame = was.length === is.length && was.every((value, i) => Object.is(value, is[i]));
  return isSame ? null : { part: name, date: null, name: null, stored: null, replayed: null };
}

function findRecordDifferenceOfRuns({ stored, replayed }: RunPair): RunDifference | null {
  if (!stored.has('record') || !replayed.has('record')) return null;
  const path = findRecordDifference(readRecord(stored), readRecord(replayed));
  return path === null ? null : { part: `record${path}`, date: null, name: null, stored: null, replayed: null };
}

function findRebalancesDifference({ stored, replayed }: RunPair): RunDifference | null {
  if (!stored.has('snapshots') || !replayed.has('snapshots')) return null;
  const [a, b] = [readRebalances(stored), readRebalances(replayed)];
  const names = { stored: a.identifiers, replayed: b.identifiers };
  const path = REBALANCES.differs(a.rebalances, b.rebalances, names);
  return path === null ? null : { part: `rebalances${path}`, date: null, name: null, stored: null, replayed: null };
}

/** Returns a number for JSON: null if it is absent or not finite. */
function toJsonNumber(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}
