import { countStaleSessions } from '../documents/stale-sessions.js';
import { formatDay } from '../time/days.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import type { Gap, Targets } from './book.js';
import { isHeldColumn, type BookState } from './book-state.js';

/** Records the missing price bars of securities that are held at the start of a session or targeted on it. */
export function findGaps(state: BookState, session: number, targets: Targets | undefined): void {
  const { sm, gaps, absences, treatment, missing: earlier } = state;
  state.missing = NO_COLUMNS;
  const isLong = countStaleSessions(treatment) > LISTED_SESSIONS_MAX;
  const mayBeLong = isLong && (earlier.length > 0 || haveHoldingsChanged(state, session));
  if (!targets && !mayBeLong && absences.starts[session] === absences.starts[session + 1]) return;
  const absentColumns = listAbsentHoldings(state, session);
  if (mayBeLong) addLongAbsent(state, session, { missing: absentColumns, earlier });
  if (targets) {
    const { columns } = targets;
    for (let k = 0; k < columns.length; k++) {
      const column = columns[k]!;
      if (!sm.hasBar(session, column) && !absentColumns.includes(column)) absentColumns.push(column);
    }
  }
  state.missing = absentColumns.length === 0 ? NO_COLUMNS : absentColumns.sort((a, b) => a - b);
  for (const column of absentColumns) {
    if (!sm.isOpen(session, column)) continue;
    if (treatment.missing_prices === 'fail') throw createMissingPriceRefusal(sm, { session, column });
    gaps.push({ session, column });
  }
}

const NO_COLUMNS: readonly number[] = [];

/** Largest limit on sessions without a price for which `listAbsences` lists every absent holding. */
const LISTED_SESSIONS_MAX = 60;

function listAbsentHoldings(state: BookState, session: number): number[] {
  const { starts, columns } = state.absences;
  const absentColumns: number[] = [];
  for (let a = starts[session]!; a < starts[session + 1]!; a++)
    if (isHeldColumn(state, columns[a]!)) absentColumns.push(columns[a]!);
  return absentColumns;
}

interface AbsenceInput {
  readonly missing: number[];
  /** Held or targeted columns without a price bar on the previous session. */
  readonly earlier: readonly number[];
}

/**
 * Adds holdings whose absence is too long to be listed. Such a holding had no price bar on the previous session either,
 * unless it was bought since then.
 */
function addLongAbsent(state: BookState, session: number, { missing, earlier }: AbsenceInput): void {
  const { sm, columns, heldSlots, count } = state;
  const addMissing = (column: number): void => {
    if (!sm.hasBar(session, column) && !missing.includes(column)) missing.push(column);
  };
  if (haveHoldingsChanged(state, session)) for (let k = 0; k < count; k++) addMissing(columns[heldSlots[k]!]!);
  else for (const column of earlier) if (isHeldColumn(state, column)) addMissing(column);
}

/** Returns true if the holdings may have changed since the previous search for gaps. */
function haveHoldingsChanged({ begins, input: { from, resume } }: BookState, session: number): boolean {
  const position = session - from;
  return position <= (resume ? 1 : 0) || begins[position] === 1 || begins[position - 1] === 1;
}

function createMissingPriceRefusal(sm: SessionMarket, { session, column }: Gap): Refusal {
  const identifier = sm.identifiers[column]!;
  const date = formatDay(sm.sessions[session]!);
  return new Refusal(
    'MISSING_PRICE',
    `${identifier} has no price on ${date}, a session of its exchange, and missing_prices is "fail".`,
    { identifier, date },
  );
}
