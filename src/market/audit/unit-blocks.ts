import { formatPrices } from '#domain/numbers/price-text.js';
import type { DataWarning } from './data-warning.js';
import { formatBarDay, type SecurityHistory } from './name-history.js';

/** Bar from which the closes are in another unit: `10 ** exponent` times those in the unit before. */
interface UnitChange {
  readonly bar: number;
  readonly exponent: number;
  /** True if the price step equals the power of ten within the usual moves of the security. */
  readonly isExact: boolean;
}

/** Consecutive bars in one unit, `from` inclusive and `to` exclusive. */
interface Segment {
  readonly from: number;
  readonly to: number;
  /** Power of ten of the unit, relative to the first bar. */
  readonly unit: number;
  /** True if the changes at both ends are exact. */
  readonly isExact: boolean;
}

/** Maximum relative distance of a step from its power of ten, in addition to the usual move of the day. */
const FACTOR_TOLERANCE = 0.06;
/** Maximum of this distance for volatile securities. */
const FACTOR_TOLERANCE_MAX = 0.5;
/** Maximum distance (log 10) of a step that counts as inexact, because the price itself also moved by up to 2. */
const LOOSE_DISTANCE = Math.log10(2);
/** Maximum power of ten between two blocks, one 1,000 times too large and the next 1,000 times too small. */
const EXPONENT_MAX = 6;
/** Maximum number of bars in a unit that differs by 10 only. The steps of a longer block may be two splits. */
const TENFOLD_BARS = 20;
/** Maximum number of bars of a block whose repair is nearly certain. */
const SHORT_BARS = 5;
/** Share of bars in the prevailing unit from which a block at either end of a history counts as wrong. */
const PREVAILING_SHARE = 2 / 3;

/**
 * Returns the bars on which the unit of the closes changes by 100 or 1,000, or by 10 for a few bars.
 * @param growths growth of each bar after its actions; NaN for a bar that is ignored
 */
export function listUnitChanges({ sigma }: SecurityHistory, growths: Float64Array): UnitChange[] {
  const changes: UnitChange[] = [];
  for (let bar = 1; bar < growths.length; bar++) {
    const growth = growths[bar]!;
    if (!(growth > 0)) continue;
    const exponent = Math.round(Math.log10(growth));
    if (exponent === 0 || Math.abs(exponent) > EXPONENT_MAX) continue;
    const tolerance = Math.min(FACTOR_TOLERANCE_MAX, FACTOR_TOLERANCE + 3 * sigma[bar]!);
    const isExact = Math.abs(growth / Number(`1e${exponent}`) - 1) < tolerance;
    if (isExact || (Math.abs(exponent) > 1 && Math.abs(Math.log10(growth) - exponent) < LOOSE_DISTANCE))
      changes.push({ bar, exponent, isExact });
  }
  return selectCredible(selectCredible(changes));
}

/**
 * Returns the changes that are evidence of a unit. An inexact step, and one by 10, must be next to the opposite step.
 * Otherwise it is a fall or a split. Two inexact steps within a few bars are a wrong price, not a unit.
 */
const selectCredible = (changes: readonly UnitChange[]): UnitChange[] =>
  changes.filter((change, i) => {
    const isTenfold = Math.abs(change.exponent) === 1;
    if (change.isExact && !isTenfold) return true;
    return [changes[i - 1], changes[i + 1]].some((other) => {
      if (other?.exponent !== -change.exponent) return false;
      const bars = Math.abs(other.bar - change.bar);
      return isTenfold ? bars <= TENFOLD_BARS : other.isExact || bars > SHORT_BARS;
    });
  });

/**
 * Yields one warning for each block of closes in a unit other than that of most closes. A block ends where the unit
 * changes back, so that one change never causes two repairs.
 */
export function* findUnitBlocks(
  history: SecurityHistory,
  changes: readonly UnitChange[],
  columns: readonly string[],
): Generator<DataWarning> {
  if (changes.length === 0) return;
  const segments = listSegments(changes, history.close.length);
  const barsByUnit = new Map<number, number>();
  for (const { unit, from, to } of segments) barsByUnit.set(unit, (barsByUnit.get(unit) ?? 0) + to - from);
  const [prevailingUnit, bars] = [...barsByUnit].reduce((most, each) => (each[1] > most[1] ? each : most));
  const isPrevailing = bars / history.close.length >= PREVAILING_SHARE;
  for (const [i, segment] of segments.entries()) {
    if (segment.unit === prevailingUnit) continue;
    const isEnclosed = segments[i - 1]?.unit === prevailingUnit && segments[i + 1]?.unit === prevailingUnit;
    const confidence =
      !segment.isExact || !(isEnclosed || isPrevailing)
        ? 0.6
        : isEnclosed && segment.to - segment.from <= SHORT_BARS
          ? 0.95
          : 0.9;
    yield createBlockWarning(history, segment, { exponent: prevailingUnit - segment.unit, columns, confidence });
  }
}

function listSegments(changes: readonly UnitChange[], end: number): Segment[] {
  let unit = 0;
  return [undefined, ...changes].map((change, i) => {
    const next = changes[i];
    unit += change?.exponent ?? 0;
    return {
      from: change?.bar ?? 0,
      to: next?.bar ?? end,
      unit,
      isExact: (change?.isExact ?? true) && (next?.isExact ?? true),
    };
  });
}

interface BlockTerms {
  /** Power of ten by which the closes of the block must be multiplied. */
  readonly exponent: number;
  readonly columns: readonly string[];
  readonly confidence: number;
}

function createBlockWarning(
  history: SecurityHistory,
  { from, to }: Segment,
  { exponent, columns, confidence }: BlockTerms,
): DataWarning {
  const { identifier, close, returns, sigma } = history;
  const isTenfold = Math.abs(exponent) === 1;
  const kind = isTenfold ? 'unexplained_jump' : 'currency_flip';
  const step = from === 0 ? to : from;
  const hasReturn = from > 0 && to < close.length;
  const date = formatBarDay(history, step);
  const closes = [close[step - 1]!, close[step]!, ...(hasReturn ? [close[to]!] : [])];
  const [before, after, back] = formatPrices(closes);
  const days = `${formatBarDay(history, from)} to ${formatBarDay(history, to - 1)}`;
  const unitText = isTenfold ? 'seem to be misplaced by one decimal' : 'are in another unit of the currency';
  return {
    id: `${kind} ${identifier} ${date}`,
    kind,
    identifier,
    date,
    confidence,
    message: `The close goes from ${before} to ${after}${hasReturn ? ` and returns to ${back} on ${formatBarDay(history, to)}` : ''}: the closes from ${days} ${unitText}.`,
    evidence: {
      before: close[step - 1]!,
      close: close[step]!,
      move: returns[step]!,
      usual_move: sigma[step]!,
      ...(hasReturn ? { back_at: close[to]!, back_on: formatBarDay(history, to) } : {}),
    },
    repair: {
      kind: 'scale',
      identifier,
      from: formatBarDay(history, from),
      to: formatBarDay(history, to - 1),
      columns,
      factor: Number(`1e${exponent}`),
    },
  };
}

/** Returns the growth of each bar without those of some bars, which are NaN. */
export function ignoreBars(growths: Float64Array, ignored: ReadonlySet<number>): Float64Array {
  return growths.map((growth, bar) => (ignored.has(bar) ? Number.NaN : growth));
}
