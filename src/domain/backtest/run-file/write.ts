import { formatDay } from '../../days.js';
import { exchangeRates } from '../../market/exchange-rates.js';
import { effectTable } from '../../market/growth.js';
import type { Day } from '../../days.js';
import { referenceAt, RETURN_VARIANTS, type MarketData, type ReturnVariant } from '../../market/market-data.js';
import { variantOn } from '../../market/price-basis.js';
import type { Book } from '../simulate/book.js';
import { foreignRates } from './foreign-rates.js';
import { indexTerms } from '../simulate/index-run.js';
import type { Run, VariantLevel } from '../run.js';
import { packRecord } from '../record/record-columns.js';
import { recordOf } from '../record/run-record.js';
import { EFFECT_WIDTH } from './segments.js';
import { createColumns, VARIANT_BLOCKS, type BlockName, type ColumnsWriter, type RunLabels } from './columns.js';

export interface ColumnsOptions {
  readonly contentHash: string;
  /** Writes around the weights of the run where there is room: the bytes share memory with the run, and only one such call may be made. */
  readonly inPlace?: boolean;
}

/**
 * Writes a run as columns.
 * @cost one pass over [T x H] weights and prices
 */
export function runToColumns(run: Run, { contentHash, inPlace = false }: ColumnsOptions): Uint8Array<ArrayBuffer> {
  const { portfolio, index, rebalances, plan, document, variants, uncapped, benchmark } = run;
  // Views of a strategy show what it holds itself.
  const indexRows = run.plan.strategy !== undefined || sameWeights(run) ? null : index.book;
  const names = namesHeld(run, indexRows !== null);
  const { identifiers } = portfolio.sm;
  const { foreign, rows: rates } = foreignRates(exchangeRates(portfolio.sm, document.currency), names);
  const effects = effectsOf(run, names);
  const labels = new TextEncoder().encode(JSON.stringify(labelsOn(portfolio.sm.market, Array.from(names, (column) => identifiers[column]!), run.days.at(-1)!)));
  const record = packRecord(recordOf(run), new Map<Float64Array | Int32Array, BlockName>([
    [run.days, 'days'], [portfolio.value, 'value'], [portfolio.cash, 'cash'],
    [index.days, 'indexDays'], [index.book.value, 'indexLevel'], [index.book.divisor, 'divisor'],
  ]));
  const variantSeries = RETURN_VARIANTS.flatMap((variant) => seriesOf(variant, variants[variant]));
  const T = portfolio.length;
  const H = names.length;
  const R = rebalances.length;
  const E = portfolio.events.length;
  const B = index.book.length;
  const hasCosts = plan.request.transaction_cost_bps > 0;
  const f64 = (length: number) => ({ type: 'f64', length }) as const;
  const columns = createColumns(
    {
      run_id: plan.runId,
      index_id: plan.indexId,
      currency: document.currency,
      calendar: document.calendar,
      treatment: { special_dividends: index.compositions.treatment.special_dividends, splits: index.compositions.treatment.splits },
      variant: variantOn(portfolio.sm.market, index.compositions.treatment.dividends),
      store_content_hash: contentHash,
      names: Array.from(names, (column) => identifiers[column]!),
      dates: T,
      index_dates: B,
      has_costs: hasCosts,
      has_cap: uncapped !== null,
      has_index_weights: indexRows !== null,
      rebalances: rebalances.map(({ date, session, cap, redistributed }) => ({ date: formatDay(date), at: Math.max(-1, session - portfolio.from), cap, redistributed })),
      foreign,
      benchmark: benchmark && { id: benchmark.reference.id, kind: benchmark.reference.kind },
    },
    {
      days: { type: 'i32', length: T }, level: f64(T), value: f64(T), gross: f64(T), costs: f64(T), cash: f64(T), breaks: { type: 'u8', length: T },
      weights: f64(T * H),
      ...(indexRows ? { indexWeights: f64(T * H) } : {}),
      eventAt: { type: 'i32', length: E }, before: f64(E * H),
      ...(hasCosts ? { eventCosts: f64(E * H) } : {}),
      targets: f64(R * H), raw: f64(R * H), capped: { type: 'u8', length: R * H },
      price: f64(H * T), effects: f64(effects.length),
      ...(rates.length > 0 ? { rates: f64(rates.length * T) } : {}),
      indexDays: { type: 'i32', length: B }, indexLevel: f64(B), divisor: f64(B),
      ...Object.fromEntries(variantSeries.map(([name]) => [name, f64(B)])),
      ...(uncapped ? { uncapped: f64(B) } : {}),
      ...(benchmark ? { benchmarkDays: { type: 'i32', length: benchmark.relative.days.length }, benchmarkLevel: f64(benchmark.relative.days.length) } : {}),
      labels: { type: 'u8', length: labels.length },
      record: { type: 'u8', length: record.description.length },
      recordF64: f64(record.f64.length), recordI32: { type: 'i32', length: record.i32.length }, recordU8: { type: 'u8', length: record.u8.length },
    },
    inPlace && isPlaced(run, names) ? { name: 'weights', values: portfolio.weights } : undefined,
  );
  columns.i32('days').set(run.days);
  columns.f64('level').set(run.level);
  columns.f64('value').set(portfolio.value);
  columns.f64('gross').set(portfolio.gross);
  columns.f64('costs').set(portfolio.costs);
  columns.f64('cash').set(portfolio.cash);
  columns.u8('breaks').set(portfolio.begins);
  if (columns.bytes.buffer !== portfolio.weights.buffer) copyRows({ book: portfolio, names, into: columns.f64('weights'), from: 0, count: T });
  if (indexRows) copyRows({ book: indexRows, names, into: columns.f64('indexWeights'), from: portfolio.from - indexRows.from, count: T });
  writeEvents(run, names, columns, hasCosts);
  writeRebalances(run, names, columns);
  writePrices(run, names, columns.f64('price'));
  columns.f64('effects').set(effects);
  rates.forEach((series, row) => columns.f64('rates').set(series.subarray(portfolio.from, portfolio.from + T), row * T));
  columns.i32('indexDays').set(index.days);
  const series: [BlockName, Float64Array][] = [['indexLevel', index.book.value], ['divisor', index.book.divisor]];
  for (const [name, values] of [...series, ...variantSeries]) columns.f64(name).set(values);
  if (uncapped) columns.f64('uncapped').set(uncapped);
  if (benchmark) {
    columns.i32('benchmarkDays').set(benchmark.relative.days);
    columns.f64('benchmarkLevel').set(benchmark.relative.level);
  }
  columns.u8('labels').set(labels);
  columns.u8('record').set(record.description);
  record.f64.writeTo(columns.f64('recordF64'));
  record.i32.writeTo(columns.i32('recordI32'));
  record.u8.writeTo(columns.u8('recordU8'));
  return columns.bytes;
}

/** Blocks of the index in a return variant; none where the market cannot tell it. */
function seriesOf(variant: ReturnVariant, level: VariantLevel | null): [BlockName, Float64Array][] {
  const blocks = VARIANT_BLOCKS[variant];
  return level === null ? [] : [[blocks.level, level.level], [blocks.divisor, level.divisor]];
}

/** Columns of the market that the run held or was asked to hold, ascending. */
function namesHeld({ portfolio, index, rebalances }: Run, indexDiffers: boolean): Int32Array {
  const held = new Uint8Array(portfolio.sm.names);
  portfolio.columns.forEach((column, slot) => {
    if (portfolio.everHeld[slot] === 1) held[column] = 1;
  });
  if (indexDiffers) noteHeld(held, index.book, portfolio.from - index.book.from);
  for (const { columns } of rebalances) for (const column of columns) held[column] = 1;
  return Int32Array.from([...held.keys()].filter((column) => held[column] === 1));
}

/** What the market calls names on a day. */
export function labelsOn({ reference }: Pick<MarketData, 'reference'>, names: readonly string[], day: Day): RunLabels {
  const textsOf = (column: string): (string | null)[] =>
    names.map((name) => {
      const value = referenceAt(reference, name, column, day);
      return value === null ? null : String(value);
    });
  return { names: textsOf('NAME'), sectors: textsOf('SECTOR') };
}

/** Marks the columns that a book held from a date on. */
function noteHeld(held: Uint8Array, { columns, weights }: Book, from: number): void {
  const names = columns.length;
  for (let at = from * names; at < weights.length; at += names) {
    for (let slot = 0; slot < names; slot++) if (weights[at + slot]! > 0) held[columns[slot]!] = 1;
  }
}

/** Whether the weights of the portfolio are those of its index from the first date on, in the room made for them, by the names of the columns. */
function isPlaced({ portfolio, index }: Run, names: Int32Array): boolean {
  const { weights, columns } = portfolio;
  const isWhole = weights.buffer === index.book.weights.buffer && weights.length === index.book.weights.length;
  return isWhole && columns.length === names.length && columns.every((column, slot) => column === names[slot]);
}

function sameColumns(a: Book, b: Book): boolean {
  return a.columns.length === b.columns.length && a.columns.every((column, slot) => column === b.columns[slot]);
}

/** Whether portfolio and index held the same weights, bit for bit, on every date of the run. */
export function sameWeights({ portfolio, index }: Run): boolean {
  const { book } = index;
  if (portfolio.weights.buffer === book.weights.buffer) return true;
  if (!sameColumns(portfolio, book)) return false;
  const shift = (portfolio.from - book.from) * book.columns.length;
  for (let i = 0; i < portfolio.weights.length; i++) if (portfolio.weights[i] !== book.weights[shift + i]) return false;
  return true;
}

interface CopyInput {
  readonly book: Book;
  readonly names: Int32Array;
  readonly into: Float64Array;
  /** First row of the book. */
  readonly from: number;
  readonly count: number;
}

function copyRows({ book, names, into, from, count }: CopyInput): void {
  const width = book.columns.length;
  if (width === names.length && book.columns.every((column, slot) => column === names[slot])) {
    into.set(book.weights.subarray(from * width, (from + count) * width));
    return;
  }
  const slots = slotsIn(book, names);
  for (let t = 0; t < count; t++) scatter(book.weights.subarray((from + t) * width, (from + t + 1) * width), slots, into.subarray(t * names.length));
}

/** Slot in the book of each name, -1 where the book does not have it. */
function slotsIn({ columns }: Book, names: Int32Array): Int32Array {
  return slotsOf(columns, names);
}

/** Position among ascending columns of each of some others, ascending too; -1 where it is not among them. */
export function slotsOf(columns: Int32Array, others: Int32Array): Int32Array {
  const slots = new Int32Array(others.length).fill(-1);
  for (let i = 0, slot = 0; i < others.length; i++) {
    while (slot < columns.length && columns[slot]! < others[i]!) slot++;
    if (columns[slot] === others[i]) slots[i] = slot;
  }
  return slots;
}

export function scatter(row: Float64Array, slots: Int32Array, into: Float64Array): void {
  for (let i = 0; i < slots.length; i++) into[i] = slots[i]! < 0 ? 0 : row[slots[i]!]!;
}

function writeEvents({ portfolio, trades, plan }: Run, names: Int32Array, columns: ColumnsWriter, hasCosts: boolean): void {
  const slots = slotsIn(portfolio, names);
  const at = columns.i32('eventAt');
  const before = columns.f64('before');
  portfolio.events.forEach((event, e) => {
    at[e] = event.at;
    scatter(event.before, slots, before.subarray(e * names.length));
  });
  if (hasCosts) columns.f64('eventCosts').set(costsOf({ portfolio, trades, plan }, names));
}

/** Costs of each name on sessions with trades, as a fraction of the value the close before; the first session has none. [E x H] */
export function costsOf({ portfolio, trades, plan }: Pick<Run, 'portfolio' | 'trades' | 'plan'>, names: Int32Array): Float64Array {
  const rate = plan.request.transaction_cost_bps / 10_000;
  const placeOf = slotsOf(names, portfolio.columns);
  const { at, slot, notional, isFree } = trades;
  const { events, value } = portfolio;
  const costs = new Float64Array(events.length * names.length);
  // Trades and events are both by date.
  for (let i = 0, e = 0; i < trades.count; i++) {
    const date = at[i]!;
    if (isFree[i] === 1 || date === 0) continue;
    while (events[e]!.at < date) e++;
    costs[e * names.length + placeOf[slot[i]!]!] = (rate * Math.abs(notional[i]!)) / value[date - 1]!;
  }
  return costs;
}

function writeRebalances(run: Run, names: Int32Array, columns: ColumnsWriter): void {
  rebalanceRows(run, names, { targets: columns.f64('targets'), raw: columns.f64('raw'), capped: columns.u8('capped') });
}

/** Applied weights, weights before capping and marks of the names at their cap, [R x H] each. */
export interface RebalanceRows {
  readonly targets: Float64Array;
  readonly raw: Float64Array;
  readonly capped: Uint8Array;
}

export function rebalanceRows({ rebalances, plan, portfolio }: Pick<Run, 'rebalances' | 'plan' | 'portfolio'>, names: Int32Array, into?: RebalanceRows): RebalanceRows {
  const exposure = plan.strategy?.exposure ?? 1;
  const cells = rebalances.length * names.length;
  const rows = into ?? { targets: new Float64Array(cells), raw: new Float64Array(cells), capped: new Uint8Array(cells) };
  const { targets, raw, capped } = rows;
  const placeOf = new Int32Array(portfolio.sm.names);
  for (let i = 0; i < names.length; i++) placeOf[names[i]!] = i;
  for (let r = 0; r < rebalances.length; r++) {
    const rebalance = rebalances[r]!;
    const row = r * names.length;
    for (let k = 0; k < rebalance.columns.length; k++) {
      const at = row + placeOf[rebalance.columns[k]!]!;
      targets[at] = exposure * rebalance.weights[k]!;
      raw[at] = rebalance.uncapped[k]!;
    }
    for (const column of rebalance.capped) capped[row + placeOf[column]!] = 1;
  }
  return rows;
}

function writePrices({ portfolio }: Run, names: Int32Array, into: Float64Array): void {
  const { sm, from, length } = portfolio;
  const close = sm.market.fields.get('CLOSE')!;
  // Names that are neighbours in the store are copied together.
  const isOneRun = names.length > 0 && names.at(-1)! - (names[0]!) === names.length - 1;
  for (let t = 0; t < length; t++) {
    const row = sm.rowOf[from + t]! * sm.names;
    const at = t * names.length;
    if (row < 0) into.fill(Number.NaN, at, at + names.length);
    else if (isOneRun) into.set(close.subarray(row + names[0]!, row + names[0]! + names.length), at);
    else for (let i = 0; i < names.length; i++) into[at + i] = close[row + names[i]!]!;
  }
}

/** Rows of name, date, ratio, cash, rights and subscription price, by name then date. */
function effectsOf({ portfolio, index }: Run, names: Int32Array): Float64Array {
  const { sm, from, length } = portfolio;
  const { effects, starts } = effectTable(sm, indexTerms(index.compositions));
  const places = new Int32Array(sm.names).fill(-1);
  names.forEach((column, i) => (places[column] = i));
  // Counting sort by name: dates come in order.
  const ends = new Int32Array(names.length + 1);
  for (let e = starts[from]!; e < starts[from + length]!; e++) {
    const place = places[effects[e]!.column]!;
    if (place >= 0) ends[place + 1]!++;
  }
  for (let i = 0; i < names.length; i++) ends[i + 1]! += ends[i]!;
  const rows = new Float64Array(EFFECT_WIDTH * ends[names.length]!);
  for (let t = 0; t < length; t++) {
    for (let e = starts[from + t]!; e < starts[from + t + 1]!; e++) {
      const { column, ratio, cash, rights, subscription } = effects[e]!;
      const place = places[column]!;
      if (place < 0) continue;
      const at = EFFECT_WIDTH * ends[place]!++;
      rows[at] = place;
      rows[at + 1] = t;
      rows[at + 2] = ratio;
      rows[at + 3] = cash;
      rows[at + 4] = rights;
      rows[at + 5] = subscription;
    }
  }
  return rows;
}
