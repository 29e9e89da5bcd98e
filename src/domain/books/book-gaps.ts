import { staleSessions } from '../documents/stale-sessions.js';
import { formatDay } from '../time/days.js';
import { panelRow, type SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import type { Gap, Targets } from './book.js';
import { isHeldColumn, type BookState } from './book-state.js';

/** Records the gaps of securities that are held into the session or targeted on it. */
export function findGaps(state: BookState, session: number, targets: Targets | undefined): void {
  const { sm, gaps, absences, treatment } = state;
  state.missing = NONE;
  const isLong = staleSessions(treatment) > LISTED_SESSIONS_MAX;
  if (!targets && !isLong && absences.starts[session] === absences.starts[session + 1]) return;
  const missing = isLong ? heldWithoutBar(state, session) : absentHeld(state, session);
  if (targets) {
    const { columns } = targets;
    const { lastBar } = sm;
    const bars = panelRow(sm, session);
    for (let k = 0; k < columns.length; k++) {
      const column = columns[k]!;
      if (lastBar[bars + column] !== session && !missing.includes(column)) missing.push(column);
    }
  }
  state.missing = missing.length === 0 ? NONE : missing.sort((a, b) => a - b);
  for (const column of missing) {
    if (!sm.isOpen(session, column)) continue;
    if (treatment.missing_prices === 'fail') throw missingPrice(sm, { session, column });
    gaps.push({ session, column });
  }
}

const NONE: readonly number[] = [];

/** Maximum number of sessions without a price bar for which securities are listed: see `absencesOf`. */
const LISTED_SESSIONS_MAX = 60;

function absentHeld(state: BookState, session: number): number[] {
  const { starts, columns } = state.absences;
  const missing: number[] = [];
  for (let a = starts[session]!; a < starts[session + 1]!; a++)
    if (isHeldColumn(state, columns[a]!)) missing.push(columns[a]!);
  return missing;
}

/** Returns the holdings without a price bar on a session, however long they have had none. */
function heldWithoutBar({ sm, columns, held, count }: BookState, session: number): number[] {
  const bars = panelRow(sm, session);
  const missing: number[] = [];
  for (let k = 0; k < count; k++) {
    const column = columns[held[k]!]!;
    if (sm.lastBar[bars + column] !== session) missing.push(column);
  }
  return missing;
}
function missingPrice(sm: SessionMarket, { session, column }: Gap): Refusal {
  const identifier = sm.identifiers[column]!;
  const date = formatDay(sm.sessions[session]!);
  return new Refusal(
    'MISSING_PRICE',
    `${identifier} has no price on ${date}, a session of its exchange, and missing_prices is "fail".`,
    { identifier, date },
  );
}
