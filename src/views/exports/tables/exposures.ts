import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import { createGroupNumbers, type GroupOfDay } from '#domain/market/groups-by-day.js';
import { readGroup, listGroupSpells, SINGLE_GROUPS, createSingleGroup } from '#domain/market/market-groups.js';
import { openPanelRows } from '../../panel-rows.js';
import { readStoredLabels } from '../../stored-labels.js';
import { BATCH_ROWS, type Batch, type ExportSource, type Producer } from '../batch.js';
import { createSpan } from '../span.js';

/** Yields the weights by group. Positions are dates in the window. */
export const produceExposures: Producer<'exposures'> = function* (source, offset) {
  const { columns, window } = source;
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  if (from + offset >= to) return;
  const block = columns.header.has_index_weights ? 'indexWeights' : 'weights';
  const panelRows = openPanelRows(columns, block, { from: from + offset, to: to - 1 });
  const groups = createGroups(source, days.subarray(from, to));
  const getCodes = groups.codes();
  let rows: GroupRow[] = [];
  for (let t = from + offset; t < to; t++) {
    rows.push(...listRows(days[t]!, panelRows.at(t), getCodes(days[t]!)));
    if (rows.length < BATCH_ROWS && t < to - 1) continue;
    yield createBatch(rows, groups.texts, t + 1 - from);
    rows = [];
  }
};

interface GroupRow {
  readonly day: Day;
  readonly group: number;
  weight: number;
  names: number;
}

/** Returns the groups with holdings, in ascending order. */
function listRows(day: Day, weights: Float64Array, codes: Int32Array): GroupRow[] {
  const rows = new Map<number, GroupRow>();
  weights.forEach((weight, name) => {
    if (weight === 0) return;
    const group = codes[name]!;
    const row = rows.get(group) ?? { day, group, weight: 0, names: 0 };
    row.weight += weight;
    row.names++;
    rows.set(group, row);
  });
  return [...rows.values()].toSorted((a, b) => a.group - b.group);
}

function createBatch(rows: readonly GroupRow[], texts: readonly string[], end: number): Batch<'exposures'> {
  return {
    count: rows.length,
    end,
    columns: {
      date: Int32Array.from(rows, ({ day }) => day),
      group: { codes: Int32Array.from(rows, ({ group }) => group), texts },
      weight: Float64Array.from(rows, ({ weight }) => weight),
      names: Int32Array.from(rows, ({ names }) => names),
    },
  };
}

interface Groups {
  /** All groups in the window in ascending order. All parts of an export share this list. */
  readonly texts: readonly string[];
  /**
   * Returns a function that finds the position of each security's group in `texts`. It must be called with ascending
   * days.
   */
  codes(): (day: Day) => Int32Array;
}

function createGroups(source: ExportSource, days: Int32Array): Groups {
  const { names } = source.columns.header;
  const groupOfDay = selectGrouping(source);
  const numbers = createGroupNumbers();
  const getNumbers = numbers.byDay(names, groupOfDay);
  days.forEach((day) => getNumbers(day));
  const texts = numbers.groups.toSorted(compareText);
  const ranks = Int32Array.from(numbers.groups, (group) => texts.indexOf(group));
  return {
    texts,
    codes() {
      const getDayNumbers = numbers.byDay(names, groupOfDay);
      return (day) => getDayNumbers(day).map((number) => ranks[number]!);
    },
  };
}

const DEFAULT_GROUPS = 'SECTOR';

/**
 * Returns how securities are grouped: by a column of the market, or, without a market, by the sectors stored with the
 * run.
 */
function selectGrouping({ columns, market, by = DEFAULT_GROUPS }: ExportSource): GroupOfDay {
  if (by === SINGLE_GROUPS) return createSingleGroup;
  if (market !== null) return listGroupSpells(market, by);
  const sectors = by === DEFAULT_GROUPS ? readStoredSectors(columns) : new Map<string, string | null>();
  return (name) => ({ group: readGroup(sectors.get(name) ?? null), until: Infinity });
}

function readStoredSectors(columns: RunColumns): Map<string, string | null> {
  const { sectors } = readStoredLabels(columns);
  return new Map(columns.header.names.map((name, i) => [name, sectors[i] ?? null]));
}
