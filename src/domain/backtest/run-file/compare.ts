import { formatDay } from '../../days.js';
import { readRecord } from '../record/record-columns.js';
import { EFFECT_WIDTH } from './segments.js';
import type { BlockName, RunColumns, RunHeader } from './columns.js';
import type { RunRecord } from '../record/run-record.js';

/** Where two runs part first. */
export interface RunDifference {
  /** Block of the stored columns, or member of their header. */
  readonly part: string;
  /** Date it belongs to, YYYY-MM-DD; null for what has none. */
  readonly date: string | null;
  /** Name it belongs to; null for what is of the whole run. */
  readonly name: string | null;
  readonly stored: number | string | null;
  readonly replayed: number | string | null;
}

/** How the elements of a block lie on dates and names. */
type Layout = 'dates' | 'dates x names' | 'rebalances x names' | 'index dates';

/**
 * Blocks in the order of cause and effect: of those that part on one date the earliest is told. Those of dates of their own
 * (events, benchmark) follow from the others and are compared last.
 */
const DATED: readonly (readonly [BlockName, Layout])[] = [
  ['price', 'dates x names'],
  ['raw', 'rebalances x names'],
  ['targets', 'rebalances x names'],
  ['weights', 'dates x names'],
  ['indexWeights', 'dates x names'],
  ['gross', 'dates'],
  ['costs', 'dates'],
  ['cash', 'dates'],
  ['value', 'dates'],
  ['level', 'dates'],
  ['indexLevel', 'index dates'],
  ['divisor', 'index dates'],
  ['levelPrice', 'index dates'],
  ['levelTotal', 'index dates'],
  ['levelNet', 'index dates'],
  ['divisorPrice', 'index dates'],
  ['divisorTotal', 'index dates'],
  ['divisorNet', 'index dates'],
  ['uncapped', 'index dates'],
];
const UNDATED: readonly BlockName[] = ['effects', 'rates', 'eventCosts', 'before', 'benchmarkLevel'];

/** Members of the header that decide how blocks are to be read, in the order in which they are compared. */
const SHAPE: readonly (keyof RunHeader)[] = ['currency', 'calendar', 'variant', 'treatment', 'names', 'foreign', 'benchmark', 'has_costs', 'has_cap', 'has_index_weights', 'rebalances'];

/**
 * The earliest place where two runs differ, null where all of their columns are equal bit for bit. A run that goes on where the
 * other stopped differs on the first date that it has more.
 * @cost one pass over both
 */
export function firstDifference(stored: RunColumns, replayed: RunColumns): RunDifference | null {
  return namesDiffer(stored.header, replayed.header) ?? earliest(stored, replayed) ?? datesDiffer(stored, replayed) ?? shapeDiffers(stored.header, replayed.header) ?? undatedDiffers(stored, replayed);
}

/**
 * Where two runs differ in anything that their columns tell, null where they tell the same, however the columns are laid out.
 * @cost one pass over both
 */
export function columnsDiffer(stored: RunColumns, replayed: RunColumns): RunDifference | null {
  const found = firstDifference(stored, replayed);
  // Columns from before records were kept in them have nothing else to differ in.
  if (found || !stored.has('record')) return found;
  for (const block of REST) {
    const is = (columns: RunColumns): string => hexOf(columns, block);
    if (stored.has(block) !== replayed.has(block) || (stored.has(block) && is(stored) !== is(replayed))) return { part: block, date: null, name: null, stored: null, replayed: null };
  }
  const [was, is] = [readRecord(stored), readRecord(replayed)].map(recordTold);
  return was === is ? null : { part: 'record', date: null, name: null, stored: null, replayed: null };
}

/** Blocks that the others do not decide. */
const REST: readonly BlockName[] = ['capped', 'eventAt', 'labels'];

function hexOf(columns: RunColumns, block: BlockName): string {
  const values = columns[columns.header.blocks[block]!.type](block);
  return Array.from(values).join(' ');
}

/** A record as a text: equal for records that tell the same, whatever the order of the names that it has. */
function recordTold({ identifiers, ...record }: RunRecord): string {
  return JSON.stringify(record, (member, value: unknown): unknown => {
    if (!(value instanceof Float64Array || value instanceof Int32Array || value instanceof Uint8Array)) return value;
    return NAMED.has(member) ? Array.from(value, (place) => identifiers[place]) : Array.from(value);
  });
}

/** Members of a record that are positions in its identifiers. */
const NAMED: ReadonlySet<string> = new Set(['columns', 'capped']);

/** Without the same names nothing of one run can be laid beside the other. */
function namesDiffer({ names }: RunHeader, { names: others }: RunHeader): RunDifference | null {
  const at = names.findIndex((name, i) => name !== others[i]);
  if (at < 0 && names.length === others.length) return null;
  const place = at < 0 ? names.length : at;
  return { part: 'names', date: null, name: null, stored: names[place] ?? null, replayed: others[place] ?? null };
}

function earliest(stored: RunColumns, replayed: RunColumns): RunDifference | null {
  let first: Dated | null = null;
  for (const [block, layout] of DATED) {
    if (!stored.has(block) || !replayed.has(block)) continue;
    const found = blockDiffers(stored, replayed, { block, ...gridOf(stored, replayed, layout) });
    if (found && (first === null || found.day < first.day)) first = found;
  }
  return first?.difference ?? null;
}

interface Dated {
  readonly day: number;
  readonly difference: RunDifference;
}

/** How the elements that two runs share lie in both: element (t, n) at `t * steps[0] + n * steps[1]`. */
interface Grid {
  readonly days: Int32Array;
  readonly names: readonly (string | null)[];
  readonly steps: readonly [number, number];
}

const NO_NAME: readonly null[] = [null];

function gridOf(stored: RunColumns, replayed: RunColumns, layout: Layout): Grid {
  const { names, dates, index_dates: indexDates, rebalances } = stored.header;
  const other = replayed.header;
  const H = names.length;
  const shared = () => stored.i32('days').subarray(0, Math.min(dates, other.dates));
  switch (layout) {
    case 'dates':
      return { days: shared(), names: NO_NAME, steps: [1, 0] };
    case 'dates x names':
      return { days: shared(), names, steps: [H, 1] };
    case 'index dates':
      return { days: stored.i32('indexDays').subarray(0, Math.min(indexDates, other.index_dates)), names: NO_NAME, steps: [1, 0] };
    case 'rebalances x names': {
      const days = stored.i32('days');
      const both = rebalances.slice(0, other.rebalances.length);
      return { days: Int32Array.from(both, ({ at }) => days[Math.max(0, at)]!), names, steps: [H, 1] };
    }
  }
}

function blockDiffers(stored: RunColumns, replayed: RunColumns, { block, days, names, steps }: Grid & { readonly block: BlockName }): Dated | null {
  const a = stored.f64(block);
  const b = replayed.f64(block);
  for (let t = 0; t < days.length; t++) {
    for (let n = 0; n < names.length; n++) {
      const was = a[t * steps[0] + n * steps[1]]!;
      const is = b[t * steps[0] + n * steps[1]]!;
      if (Object.is(was, is)) continue;
      return { day: days[t]!, difference: { part: block, date: formatDay(days[t]!), name: names[n]!, stored: finite(was), replayed: finite(is) } };
    }
  }
  return null;
}

function datesDiffer(stored: RunColumns, replayed: RunColumns): RunDifference | null {
  for (const block of ['days', 'indexDays'] as const) {
    const a = stored.i32(block);
    const b = replayed.i32(block);
    const at = a.findIndex((day, i) => day !== b[i]);
    if (at < 0 && a.length === b.length) continue;
    const place = at < 0 ? a.length : at;
    const shown = (day: number | undefined): string | null => (day === undefined ? null : formatDay(day));
    return { part: block, date: shown(a[place] ?? b[place]), name: null, stored: shown(a[place]), replayed: shown(b[place]) };
  }
  return null;
}

function shapeDiffers(stored: RunHeader, replayed: RunHeader): RunDifference | null {
  for (const member of SHAPE) {
    const a = shapeOf(stored, member);
    const b = shapeOf(replayed, member);
    if (a !== b) return { part: member, date: null, name: null, stored: a.slice(0, TEXT_MAX), replayed: b.slice(0, TEXT_MAX) };
  }
  return null;
}

/** A member as a text. Which row a foreign name has decides nothing: names of a currency had one each before they shared it. */
function shapeOf(header: RunHeader, member: keyof RunHeader): string {
  return JSON.stringify(member === 'foreign' ? Object.keys(header.foreign) : header[member]);
}

/** Characters of a member that are shown. */
const TEXT_MAX = 200;

function undatedDiffers(stored: RunColumns, replayed: RunColumns): RunDifference | null {
  for (const block of UNDATED) {
    if (!stored.has(block) && !replayed.has(block)) continue;
    const a = undated(stored, block);
    const b = undated(replayed, block);
    const longer = Math.max(a.length, b.length);
    for (let i = 0; i < longer; i++) {
      if (Object.is(a[i], b[i])) continue;
      return { part: block, date: null, name: null, stored: finite(a[i]), replayed: finite(b[i]) };
    }
  }
  return null;
}

/** A block in the order of a run made whole. */
function undated(columns: RunColumns, block: BlockName): Float64Array {
  if (!columns.has(block)) return new Float64Array(0);
  const values = columns.f64(block);
  return block === 'effects' ? effectsByName(values) : block === 'rates' ? ratesByName(columns, values) : values;
}

/** Rates of each foreign name, one behind the other. */
function ratesByName({ header: { foreign, dates } }: RunColumns, values: Float64Array): Float64Array {
  const rows = Object.values(foreign);
  const named = new Float64Array(rows.length * dates);
  rows.forEach((row, i) => named.set(values.subarray(row * dates, (row + 1) * dates), i * dates));
  return named;
}

/** Rows of effects by name then date. */
function effectsByName(values: Float64Array): Float64Array {
  const rows = Array.from({ length: values.length / EFFECT_WIDTH }, (_, row) => values.subarray(row * EFFECT_WIDTH, (row + 1) * EFFECT_WIDTH));
  const sorted = new Float64Array(values.length);
  rows.toSorted((a, b) => a[0]! - b[0]! || a[1]! - b[1]!).forEach((row, place) => sorted.set(row, place * EFFECT_WIDTH));
  return sorted;
}

/** A number as JSON has it. */
function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}
