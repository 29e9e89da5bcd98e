import { countStaleSessions } from '../definition/treatment.js';
import { findEffect, holdsShares } from '../market/action-effects.js';
import { findCarriedUnder } from '../market/growth.js';
import { requireRate } from '../market/rates.js';
import { readPanelRow } from '../market/session-market.js';
import { type CountFactors, recordShares, toShareTime } from './book.js';
import { type BookState, findRowOffset, findSlot, holdSecurity, type SpunOffSecurity } from './state.js';

/** Returns the spun-off securities that the holdings of the previous close receive. */
export function listSpunOff(
  state: BookState,
  session: number,
  ofCounts: CountFactors | null,
): readonly SpunOffSecurity[] {
  const { sm, rates, slotOf, growth } = state;
  const { effects, index } = state.tables;
  const { units } = state.holdings;
  const { events } = state.today;
  if (events === undefined) return NO_CHILDREN;
  return events.spinOffs.flatMap(({ parent, child, units: perUnit }): SpunOffSecurity[] => {
    const heldPosition = findSlot(state, parent);
    if (heldPosition < 0) return [];
    const heldUnits = units[heldPosition]! * findFactor(ofCounts, heldPosition);
    const ratio =
      effects.getTerms(session).splitShares === 'keep' ? 1 : (findEffect(effects, session, parent)?.ratio ?? 1);
    const computeShares = (): number =>
      (heldUnits * index[readPanelRow(sm, session - 1) + parent]!) /
      (findCarriedUnder(sm, effects, session - 1, parent) * rates.rateAt(session - 1, parent));
    const shares = holdsShares(growth) ? heldUnits : computeShares();
    return [{ slot: slotOf[child]!, column: child, since: session, units: shares * ratio * perUnit }];
  });
}

const NO_CHILDREN: readonly SpunOffSecurity[] = [];

function findFactor(factors: CountFactors | null, place: number): number {
  const position = factors === null ? -1 : factors.places.subarray(0, factors.count).indexOf(place);
  return position < 0 ? 1 : factors!.values[position]!;
}

/**
 * Keeps the shares of spun-off securities without a price that a portfolio holds. Its units are index shares, whose value
 * in money changes with costs and with the divisor.
 */
export function keepChildValues(
  { input, series: { reinvested, value, divisor }, pending: { children } }: BookState,
  session: number,
  before: { readonly value: number; readonly divisor: number },
): void {
  if (input.fills === 'all' || reinvested === null || session === input.from) return;
  const position = session - input.from;
  const factor = (divisor[position]! / before.divisor) * (before.value / value[position]!);
  for (const child of children) child.units *= factor;
}

/**
 * Adds spun-off securities with value zero; their value begins with their first price bar, or is what holders receive if
 * the security ends before.
 */
export function enterChildren(state: BookState, session: number, spunOff: readonly SpunOffSecurity[]): void {
  const { sm, rates, treatment } = state;
  const { weights } = state.series;
  const { effects } = state.tables;
  const droppedColumns: number[] = [];
  const row = findRowOffset(state, session);
  for (const child of state.pending.children) child.units *= findEffect(effects, session, child.column)?.ratio ?? 1;
  state.pending.children.push(...spunOff);
  if (state.pending.children.length === 0) return;
  state.pending.children = state.pending.children
    .map((child) => followTicker(state, session, child))
    .filter((child) => {
      const isPriced = sm.isPriceable(session, child.column, Infinity);
      const proceeds = isPriced ? undefined : state.today.events?.exits.get(child.column)?.proceeds;
      if (!isPriced && proceeds === undefined) {
        const isWaiting = session - child.since < countStaleSessions(treatment);
        if (!isWaiting) state.record.silent.push({ session, column: child.column });
        return isWaiting;
      }
      requireRate(rates, sm, session, child.column);
      const price = proceeds ?? findCarriedUnder(sm, effects, session, child.column);
      weights[row + child.slot]! += child.units * price * rates.rateAt(session, child.column);
      expectShares(state, session, child);
      if (treatment.spin_offs === 'drop_after_first_session' && state.holdings.isHeld[child.slot] === 0)
        droppedColumns.push(child.column);
      holdSecurity(state, child.slot);
      state.today.hasNewShares = true;
      return false;
    });
  state.today.droppedChildren = droppedColumns;
}

function followTicker({ sm, slotOf }: BookState, session: number, child: SpunOffSecurity): SpunOffSecurity {
  const change = sm.actions.related.find(
    (one) => one.session === session && one.column === child.column && one.action.type === 'TICKER_CHANGE',
  );
  const column =
    change === undefined || sm.lastBar[readPanelRow(sm, session) + child.column]! >= 0
      ? -1
      : sm.columnOf(change.action.related!);
  return column < 0 ? child : { ...child, column, slot: slotOf[column]! };
}

export function expectShares(state: BookState, session: number, { slot, units: added }: SpunOffSecurity): void {
  const { isHeld, units, places, expectedShares } = state.holdings;
  const heldUnits = expectedShares[slot]! || (isHeld[slot] === 1 ? units[places[slot]!]! : 0);
  expectedShares[slot] = heldUnits + added;
  if (state.record.shares !== null)
    recordShares(state.record.shares, toShareTime(session - state.input.from, 'close'), slot, heldUnits + added);
}
