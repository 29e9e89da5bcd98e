import type { Day } from '#domain/days.js';
import { groupNumbers, type GroupNumbers, type GroupOfDay } from '#domain/market/groups-by-day.js';
import type { Side } from './sides.js';

export interface GroupsAsked {
  readonly days: readonly Day[];
  /** Most groups listed. */
  readonly groups: number;
  readonly groupOf: GroupOfDay;
}

export interface GroupWeights {
  readonly group: string;
  /** Sum of the weights on each date. */
  readonly weights: Float64Array;
  /** The same of the benchmark, null without one. */
  readonly benchmark: Float64Array | null;
}

/** The groups that are not listed one by one. */
const OTHERS = 'OTHERS';

/**
 * Weights of the groups that weigh most on average, and of the others together.
 * @cost reads the weights twice: for the averages that order the groups, and for those that are reported
 */
export function weightsByGroup(own: Side, benchmark: Side | null, asked: GroupsAsked): GroupWeights[] {
  const numbers = groupNumbers();
  const totals = totalsOf(numbers, own, asked);
  const others = benchmark && totalsOf(numbers, benchmark, asked);
  const held = [...numbers.groups.keys()].filter((number) => totals.isHeld(number) || others?.isHeld(number) === true);
  const ordered = held.toSorted((a, b) => {
    const [x, y] = [numbers.groups[a]!, numbers.groups[b]!];
    return totals.of(b) - totals.of(a) || (x < y ? -1 : 1);
  });
  const shown = ordered.slice(0, asked.groups);
  const labels = shown.map((number) => numbers.groups[number]!);
  if (ordered.length > shown.length) labels.push(OTHERS);
  const placeOf = new Int32Array(numbers.groups.length).fill(labels.length - 1);
  shown.forEach((number, place) => (placeOf[number] = place));
  const placed = { ...asked, placeOf, places: labels.length };
  const sums = sumsOf(numbers, own, placed);
  const other = benchmark && sumsOf(numbers, benchmark, placed);
  return labels.map((group, place) => ({ group, weights: sums[place]!, benchmark: other && other[place]! }));
}

interface Totals {
  /** Sum of a group's weights over the dates. */
  of(number: number): number;
  /** Whether a name of the group has a weight on a date. */
  isHeld(number: number): boolean;
}

function totalsOf(numbers: GroupNumbers, side: Side, { days, groupOf }: GroupsAsked): Totals {
  const numbersOn = numbers.byDay(side.names, groupOf);
  let sums = new Float64Array(0);
  let gross = new Float64Array(0);
  const weightsAt = side.pass();
  days.forEach((day, k) => {
    const weights = weightsAt(k);
    const groups = numbersOn(day);
    if (sums.length < numbers.groups.length) {
      sums = widened(sums, numbers.groups.length);
      gross = widened(gross, numbers.groups.length);
    }
    for (let i = 0; i < weights.length; i++) {
      const weight = weights[i]!;
      if (weight === 0) continue;
      sums[groups[i]!]! += weight;
      gross[groups[i]!]! += Math.abs(weight);
    }
  });
  return { of: (number) => sums[number] ?? 0, isHeld: (number) => (gross[number] ?? 0) > 0 };
}

function widened(values: Float64Array, length: number): Float64Array<ArrayBuffer> {
  const wider = new Float64Array(length);
  wider.set(values);
  return wider;
}

interface Placed extends GroupsAsked {
  /** Place of each group among those listed. */
  readonly placeOf: Int32Array;
  readonly places: number;
}

function sumsOf(numbers: GroupNumbers, side: Side, { days, groupOf, placeOf, places }: Placed): Float64Array[] {
  const numbersOn = numbers.byDay(side.names, groupOf);
  const sums = Array.from({ length: places }, () => new Float64Array(days.length));
  const row = new Float64Array(places);
  const weightsAt = side.pass();
  days.forEach((day, k) => {
    const weights = weightsAt(k);
    const groups = numbersOn(day);
    row.fill(0);
    for (let i = 0; i < weights.length; i++) if (weights[i] !== 0) row[placeOf[groups[i]!]!]! += weights[i]!;
    sums.forEach((of, place) => (of[k] = row[place]!));
  });
  return sums;
}
