import { panelRow } from '../../market/session-market.js';
import type { BookState } from './book-state.js';

/** The sums of two sessions over the same units. */
const both = new Float64Array(2);

/**
 * Value of the book since the holding period began. That of the session after is summed with it where the units stay
 * the same as far as is known: what is held is read once for both.
 */
export function growUnits(state: BookState, session: number): number {
  const { index, sm, heldColumns, isOneRun, ahead } = state;
  if (ahead.session === session && ahead.period === state.periods) return ahead.value;
  const row = panelRow(sm, session);
  if (!staysSame(state, session))
    return isOneRun ? growRun(index, row + heldColumns[0]!, state) : growEach(index, row, state);
  if (isOneRun) growRunTwice(index, row + heldColumns[0]!, state);
  else growEachTwice(index, row, state);
  ahead.session = session + 1;
  ahead.period = state.periods;
  ahead.value = both[1]!;
  return both[0]!;
}

/** Whether the units of a session are those of the next unless something unforeseen happens at its close. */
function staysSame({ input, targetsOn, inIndex, ofShorts, effects }: BookState, session: number): boolean {
  return session < input.to && inIndex === null && ofShorts === effects && !targetsOn.has(session);
}

type Held = Pick<BookState, 'sm' | 'units' | 'heldColumns' | 'count' | 'periodCash'>;

/** Four sums go side by side, so that no addition waits for the one before. */
function growEach(index: Float64Array, row: number, { units, heldColumns, count, periodCash }: Held): number {
  const fours = count & ~3;
  let a = periodCash;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let k = 0; k < fours; k += 4) {
    a += units[k]! * index[row + heldColumns[k]!]!;
    b += units[k + 1]! * index[row + heldColumns[k + 1]!]!;
    c += units[k + 2]! * index[row + heldColumns[k + 2]!]!;
    d += units[k + 3]! * index[row + heldColumns[k + 3]!]!;
  }
  for (let k = fours; k < count; k++) a += units[k]! * index[row + heldColumns[k]!]!;
  return a + b + (c + d);
}

/** The same sums over names side by side. */
function growRun(index: Float64Array, at: number, { units, count, periodCash }: Held): number {
  const fours = count & ~3;
  let a = periodCash;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let k = 0; k < fours; k += 4) {
    a += units[k]! * index[at + k]!;
    b += units[k + 1]! * index[at + k + 1]!;
    c += units[k + 2]! * index[at + k + 2]!;
    d += units[k + 3]! * index[at + k + 3]!;
  }
  for (let k = fours; k < count; k++) a += units[k]! * index[at + k]!;
  return a + b + (c + d);
}

/** As `growEach` of a session and the next, into `both`. */
function growEachTwice(index: Float64Array, row: number, { sm, units, heldColumns, count, periodCash }: Held): void {
  const fours = count & ~3;
  const next = row + sm.names;
  let a = periodCash;
  let b = 0;
  let c = 0;
  let d = 0;
  let e = periodCash;
  let f = 0;
  let g = 0;
  let h = 0;
  for (let k = 0; k < fours; k += 4) {
    const i = heldColumns[k]!;
    const j = heldColumns[k + 1]!;
    const l = heldColumns[k + 2]!;
    const m = heldColumns[k + 3]!;
    const p = units[k]!;
    const q = units[k + 1]!;
    const r = units[k + 2]!;
    const s = units[k + 3]!;
    a += p * index[row + i]!;
    b += q * index[row + j]!;
    c += r * index[row + l]!;
    d += s * index[row + m]!;
    e += p * index[next + i]!;
    f += q * index[next + j]!;
    g += r * index[next + l]!;
    h += s * index[next + m]!;
  }
  for (let k = fours; k < count; k++) {
    a += units[k]! * index[row + heldColumns[k]!]!;
    e += units[k]! * index[next + heldColumns[k]!]!;
  }
  both[0] = a + b + (c + d);
  both[1] = e + f + (g + h);
}

/** As `growRun` of a session and the next, into `both`. */
function growRunTwice(index: Float64Array, at: number, { sm, units, count, periodCash }: Held): void {
  const fours = count & ~3;
  const next = at + sm.names;
  let a = periodCash;
  let b = 0;
  let c = 0;
  let d = 0;
  let e = periodCash;
  let f = 0;
  let g = 0;
  let h = 0;
  for (let k = 0; k < fours; k += 4) {
    const p = units[k]!;
    const q = units[k + 1]!;
    const r = units[k + 2]!;
    const s = units[k + 3]!;
    a += p * index[at + k]!;
    b += q * index[at + k + 1]!;
    c += r * index[at + k + 2]!;
    d += s * index[at + k + 3]!;
    e += p * index[next + k]!;
    f += q * index[next + k + 1]!;
    g += r * index[next + k + 2]!;
    h += s * index[next + k + 3]!;
  }
  for (let k = fours; k < count; k++) {
    a += units[k]! * index[at + k]!;
    e += units[k]! * index[next + k]!;
  }
  both[0] = a + b + (c + d);
  both[1] = e + f + (g + h);
}
