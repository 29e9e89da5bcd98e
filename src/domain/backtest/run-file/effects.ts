import { effectTable, type EffectTable } from '../../market/session-effects.js';
import type { CorporateAction } from '../../market/market-data.js';
import { placeActions } from '../../market/session-actions.js';
import type { Run } from '../run.js';
import { indexTerms } from '../simulate/index-run.js';
import type { AddedSessions, BlockReader, Filling } from './block.js';
import { placeIn } from './names.js';
import type { Sessions } from './panels.js';

/** Numbers of a row: name, date, ratio, cash, rights, subscription price. */
export const EFFECT_WIDTH = 6;

/** Rows of a whole run by name, then date. */
export function wholeEffects(
  { portfolio, index }: Pick<Run, 'portfolio' | 'index'>,
  names: Int32Array,
): Filling<Float64Array> {
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
  return {
    length: EFFECT_WIDTH * ends[names.length]!,
    writeTo(rows) {
      const next = ends.slice();
      for (let t = 0; t < length; t++) {
        for (let e = starts[from + t]!; e < starts[from + t + 1]!; e++) {
          const { column, ratio, cash, rights, subscription } = effects[e]!;
          const place = places[column]!;
          if (place < 0) continue;
          const at = EFFECT_WIDTH * next[place]!++;
          rows[at] = place;
          rows[at + 1] = t;
          rows[at + 2] = ratio;
          rows[at + 3] = cash;
          rows[at + 4] = rights;
          rows[at + 5] = subscription;
        }
      }
    },
  };
}

/** The sessions of the stored run. */
export function sessionsBefore({
  before,
  continuation: { portfolio },
}: Pick<AddedSessions, 'before' | 'continuation'>): Sessions {
  return { from: portfolio.from + 1 - before, to: portfolio.from + 1 };
}

/**
 * Rows after those stored: of names that joined on the sessions before, by name, then of all on the new ones, by date.
 */
export function addedEffects(source: AddedSessions): readonly Float64Array[] {
  const {
    continuation: {
      index,
      portfolio: { from, length },
    },
    names,
    joined,
  } = source;
  const onAdded = { from: from + 1, to: from + length };
  const after = effectRows(source, { table: effectTable(index.sm, indexTerms(index)), of: names, ...onAdded });
  if (joined.length === 0) return [Float64Array.from(after)];
  const table = tableOf(source, source.actionsOf(joined));
  const before = Array.from(joined, (column) =>
    effectRows(source, { table, of: Int32Array.of(column), ...sessionsBefore(source) }),
  );
  return [Float64Array.from(before.flat()), Float64Array.from(after)];
}

/** What some actions do on all sessions. */
function tableOf({ continuation: { index } }: AddedSessions, actions: readonly CorporateAction[]): EffectTable {
  const { sm } = index;
  const market = { ...sm.market, actions };
  const placed = placeActions({ market, sessions: sm.sessions, calendar: sm.calendar, columnOf: sm.columnOf });
  return effectTable({ ...sm, market, actions: placed }, indexTerms(index));
}

interface EffectRows extends Sessions {
  readonly table: EffectTable;
  /** Columns of the market. */
  readonly of: Int32Array;
}

function effectRows(source: AddedSessions, { table: { effects, starts }, of, from, to }: EffectRows): number[] {
  const first = sessionsBefore(source).from;
  const rows: number[] = [];
  for (let session = from; session < to; session++) {
    for (let e = starts[session]!; e < starts[session + 1]!; e++) {
      const { column, ratio, cash, rights, subscription } = effects[e]!;
      if (placeIn(of, column) >= 0)
        rows.push(placeIn(source.names, column), session - first, ratio, cash, rights, subscription);
    }
  }
  return rows;
}

/** Rows of a stored run by name then date, whatever was added to it. */
export function effectsByName(columns: BlockReader): Float64Array {
  const values = columns.f64('effects');
  const count = values.length / EFFECT_WIDTH;
  const rows = Array.from({ length: count }, (_, row) => values.subarray(row * EFFECT_WIDTH, (row + 1) * EFFECT_WIDTH));
  const sorted = new Float64Array(values.length);
  rows
    .toSorted((a, b) => a[0]! - b[0]! || a[1]! - b[1]!)
    .forEach((row, place) => sorted.set(row, place * EFFECT_WIDTH));
  return sorted;
}
