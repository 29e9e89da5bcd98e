import { SESSIONS_PER_CALL } from '#kernels/engines/value-panel.js';
import { sumHoldingValue } from '#kernels/sums/holding-values.js';
import { readPanelRow } from '../market/session-market.js';
import type { BookState } from './book-state.js';
import { countSessionsAhead } from './share-changes.js';

/**
 * Returns the book value relative to the start of the holding period. The same pass sums later sessions on which the
 * units probably stay unchanged, so that the holdings are read only once.
 */
export function computeBookValue(state: BookState, session: number): number {
  const { index, sm, heldColumns, units, count, isOneRun, ahead, panel } = state;
  if (ahead.period === state.periods && session > ahead.from && session < ahead.to)
    return ahead.values[session - ahead.from]!;
  const row = readPanelRow(sm, session);
  const holding = { columns: heldColumns, units, count, money: state.periodCash };
  if (panel === undefined) return sumHoldingValue(index, row, holding);
  if (!panel.has(ahead, state.periods)) panel.load(holding, { isRun: isOneRun, owner: ahead, version: state.periods });
  ahead.period = state.periods;
  ahead.from = session;
  ahead.to = findNextUnitChange(state, session);
  panel.values(row, ahead.to - session, ahead.values);
  return ahead.values[0]!;
}

/** Changes the units of a position within a holding period. */
export function setUnits({ units, panel, ahead, periods }: BookState, place: number, changedUnits: number): void {
  units[place] = changedUnits;
  if (panel?.has(ahead, periods)) panel.setUnits(place, units[place]!);
  ahead.to = ahead.from; // invalidates the precomputed sums, which used the old units
}

/**
 * Returns the end, exclusive, of the sessions on which no units of a holding are known to change, at most
 * `SESSIONS_PER_CALL` sessions later. An event that is only known at a close may change units earlier.
 */
function findNextUnitChange(state: BookState, session: number): number {
  const { input, sm, targetsOn, inIndex, ofShorts, effects } = state;
  if (inIndex !== null || ofShorts !== effects) return session + 1;
  const { isOpening } = effects;
  const { isStructural } = sm.actions;
  const last = Math.min(input.to, session + Math.min(SESSIONS_PER_CALL, countSessionsAhead(state, session)) - 1);
  let periodEnd = session;
  while (
    periodEnd < last &&
    !targetsOn.has(periodEnd) &&
    isStructural[periodEnd + 1] === 0 &&
    isOpening[periodEnd + 1] === 0
  )
    periodEnd++;
  return periodEnd + 1;
}
