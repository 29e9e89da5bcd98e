import { formatDay } from '../time/days.js';
import { findFirstAtLeast } from '../numbers/search.js';
import type { SessionMarket } from '../market/session-market.js';
import { GROWTH_DATAPOINTS, createSource, type SharedState, type DatapointSource } from './datapoint-sources.js';
import { DEFAULT_WINDOW, type FieldRequest } from './field-request.js';
import { findLatestSession } from './latest-values.js';
import { resolveName } from './resolution.js';
import { computeHalf } from './windows.js';
import { listExpressionReads } from './expressions/reads.js';
import { isField, toFieldRequest, type DatapointExpression } from './expressions/tree.js';

/** Dates of the bars, rows or events on which a value is based. */
export interface DatapointDates {
  /**
   * First date read. It equals `to` for a single value. Both are null if no value was found, or if the value was always
   * valid.
   */
  readonly from: string | null;
  readonly to: string | null;
  /** Number of values found between the two dates. */
  readonly observations: number;
  /** First later session on which the security can have enough history. Null if it has enough now. */
  readonly knownFrom: string | null;
}

/** Returns the dates on which an expression is based: the union over all datapoints that it reads. */
export function readExpression(
  shared: SharedState,
  request: { readonly field: DatapointExpression; readonly column: number; readonly session: number },
): DatapointDates {
  const { field, column, session } = request;
  const { datapoints } = shared.terms;
  if (isField(field) && !datapoints.has(field.name))
    return readDatapoint(shared, { field: toFieldRequest(field), column, session });
  const reads = listExpressionReads(field, datapoints).map((read) =>
    readDatapoint(shared, { field: read.field, column, session }),
  );
  const sortDays = (days: readonly (string | null)[]): string[] => days.filter((day) => day !== null).toSorted();
  return {
    from: sortDays(reads.map(({ from }) => from))[0] ?? null,
    to: sortDays(reads.map(({ to }) => to)).at(-1) ?? null,
    observations: reads.reduce((sum, { observations }) => sum + observations, 0),
    knownFrom: sortDays(reads.map(({ knownFrom }) => knownFrom)).at(-1) ?? null,
  };
}

function readDatapoint(
  shared: SharedState,
  { field, column, session }: { readonly field: FieldRequest; readonly column: number; readonly session: number },
): DatapointDates {
  const { sm, terms } = shared;
  const end = session - field.lag;
  const source = createSource(shared, field);
  const earliest = findEarliestSession(sm, { field, source, column });
  const knownFrom = earliest > session ? formatSessionDay(sm, earliest) : null;
  const emptyDates: DatapointDates = { from: null, to: null, observations: 0, knownFrom };
  if (end < 0) return emptyDates;
  const formatSession = (position: number) => formatDay(sm.sessions[position]!);
  const result = resolveName(sm.market, field);
  if ('dataset' in result && result.dataset === 'reference' && field.aggregate === 'last') {
    const spell = shared.spellsOf(field.name)[column]!.findLast(({ from }) => from <= sm.sessions[end]!);
    if (spell === undefined || spell.value === null) return { ...emptyDates, knownFrom: null };
    const spellStart = spell.from === -Infinity ? null : formatDay(spell.from);
    return { from: spellStart, to: spellStart, observations: 1, knownFrom: null };
  }
  if (source.kind === 'series' && field.aggregate === 'last') {
    const { series } = source;
    const position = findLatestSession({ sm, series, end, column, terms });
    return position < 0
      ? emptyDates
      : { from: formatSession(position), to: formatSession(position), observations: 1, knownFrom: null };
  }
  const trailingSeries = source.kind === 'series' ? source.trailing : shared.table.returns('RETURN');
  const length = field.window ?? DEFAULT_WINDOW;
  const cell = new Float64Array(1);
  const singleColumn = Int32Array.of(column);
  const read: number[] = [];
  for (let position = Math.max(0, end - length + 1); position <= end; position++) {
    trailingSeries.fill(position, singleColumn, cell);
    if (!Number.isNaN(cell[0]!)) read.push(position);
  }
  if (read.length === 0) return emptyDates;
  return { from: formatSession(read[0]!), to: formatSession(read.at(-1)!), observations: read.length, knownFrom };
}

/**
 * Returns the first session on which a datapoint of a security can have a value. Assumes that the security trades on
 * every session from its first price bar on; a statistic needs half of its window. Returns NaN before the first price
 * bar.
 */
function findEarliestSession(
  sm: SessionMarket,
  {
    field,
    source,
    column,
  }: { readonly field: FieldRequest; readonly source: DatapointSource; readonly column: number },
): number {
  const isStatistic = source.kind !== 'series' || field.aggregate !== 'last';
  const observationsRequired = isStatistic ? Math.max(1, computeHalf(field.window ?? DEFAULT_WINDOW)) : 1;
  const begin = findFirstBar(sm, column) + (GROWTH_DATAPOINTS.has(field.name) ? 1 : 0); // a return needs an earlier price bar
  return begin + observationsRequired - 1 + field.lag;
}

function findFirstBar({ lastBar, securityCount }: SessionMarket, column: number): number {
  for (let cell = column; cell < lastBar.length; cell += securityCount) if (lastBar[cell]! >= 0) return lastBar[cell]!;
  return NaN;
}

/**
 * Returns the date of a session. The session may be after the last session of the data. Returns null beyond the
 * calendar.
 */
function formatSessionDay({ sessions, calendar }: SessionMarket, session: number): string | null {
  const from = findFirstAtLeast(calendar.sessions, sessions[0]!);
  const day = calendar.sessions[from + session];
  return day === undefined ? null : formatDay(day);
}
