import { toDatedRunTreatment, readRunGrowthTerms } from '#domain/backtest/run-file/settings.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { findTreatment } from '#domain/documents/treatment.js';
import { readCarriedClose } from '#domain/index-mathematics/growth.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import { formatDay } from '#domain/time/days.js';
import { readDivisors, listFreeTrades } from '../exports/tables/events.js';
import type { ActionRow, ActionsInput } from './actions-input.js';
import { readHoldingsOn, computeMarketValues } from './holdings-on-date.js';
import { findActualOutcome } from './taken-outcome.js';

/** Types of actions after which a security is not traded any more. */
const ENDING_TYPES: ReadonlySet<string> = new Set(['MERGER', 'ACQUISITION', 'DELISTING', 'TICKER_CHANGE']);

/**
 * Returns exits that have no corporate action. Such a security had no price for longer than the treatment permits.
 * @cost reads up to two weights for each trade without cost
 */
export function listSilentExits(
  columns: RunColumns,
  days: Int32Array,
  { sm, rates, from, to }: ActionsInput,
): ActionRow[] {
  const { names, has_index_weights: hasOwn, run_id: runId, index_id: indexId } = columns.header;
  const divisor = hasOwn || runId === indexId ? readDivisors(columns, days) : null;
  const { weightAt, sharesAt } = readHoldingsOn(columns, days, { sm, rates });
  const growth = readRunGrowthTerms(columns.header, columns.header.variant);
  const endedIdentifiers = new Set(
    sm.actions.all
      .filter(({ action }) => ENDING_TYPES.has(action.type))
      .map(({ session, column }) => `${session} ${column}`),
  );
  return listFreeTrades(columns).flatMap(({ at, name, notional }): ActionRow[] => {
    const day = days[at]!;
    const column = sm.columnOf(names[name]!);
    if (at === 0 || column < 0 || (from !== null && day < from) || (to !== null && day > to)) return [];
    const session = sm.sessionAt(day);
    const weight = weightAt(at - 1, name);
    // An exit sells a whole long position or buys back a whole short position.
    if (weight * notional >= 0 || weightAt(at, name) !== 0 || endedIdentifiers.has(`${session} ${column}`)) return [];
    const price = readCarriedClose(sm, growth, session, column);
    return [
      {
        ...NO_ELECTION,
        ex_date: formatDay(day),
        identifier: names[name]!,
        type: 'SILENT_DELISTING',
        value: price,
        related: null,
        price_before: price,
        weight_before: weight,
        weight_after: 0,
        shares_before: sharesAt(at - 1, column, weight),
        shares_after: 0,
        divisor_before: divisor?.[at - 1] ?? null,
        divisor_after: divisor?.[at] ?? null,
        proceeds: price,
      },
    ];
  });
}

/**
 * Returns the exits of spun-off securities at their first close.
 * @cost reads up to three weights for each trade without cost
 */
export function listSpinOffExits(columns: RunColumns, days: Int32Array, input: ActionsInput): ActionRow[] {
  const { sm, rates, from, to } = input;
  const { names, has_index_weights: hasOwn, run_id: runId, index_id: indexId, variant } = columns.header;
  const treatment = toDatedRunTreatment(columns.header);
  const terms = { sm, rates, treatment, growth: readRunGrowthTerms(columns.header, variant) };
  const divisor = hasOwn || runId === indexId ? readDivisors(columns, days) : null;
  const { weightAt, sharesAt } = readHoldingsOn(columns, days, { sm, rates });
  const level = computeMarketValues(columns, days);
  return listFreeTrades(columns).flatMap(({ at, name }): ActionRow[] => {
    const day = days[at]!;
    const column = sm.columnOf(names[name]!);
    if (at === 0 || column < 0 || (from !== null && day < from) || (to !== null && day > to)) return [];
    if (findTreatment(treatment, day).spin_offs !== 'drop_after_first_session') return [];
    if (weightAt(at - 1, name) !== 0 || weightAt(at, name) !== 0) return [];
    const spinOff = sm.actions.related.findLast(
      ({ session, action }) =>
        action.type === 'SPIN_OFF' && action.related === names[name] && session <= sm.sessionAt(day),
    );
    const spunColumn = spinOff === undefined ? -1 : names.indexOf(spinOff.action.identifier);
    if (spinOff === undefined || spunColumn < 0) return [];
    const previousSession = findFirstAtLeast(days, spinOff.action.exDay) - 1;
    const parent = sharesAt(previousSession, spinOff.column, weightAt(previousSession, spunColumn));
    const parentHolding = {
      session: spinOff.session,
      column: spinOff.column,
      shares: parent,
      level: level[previousSession + 1]!,
    };
    const { received } = findActualOutcome(terms, spinOff.action, parentHolding);
    if (received === null) return [];
    const close = readCarriedClose(sm, terms.growth, sm.sessionAt(day), column);
    return [
      {
        ...NO_ELECTION,
        ex_date: formatDay(day),
        identifier: names[name]!,
        type: 'SPIN_OFF_EXIT',
        value: close,
        related: spinOff.action.identifier,
        price_before: null,
        weight_before: 0,
        weight_after: 0,
        shares_before: parent * received.ratio,
        shares_after: 0,
        divisor_before: divisor?.[at - 1] ?? null,
        divisor_after: divisor?.[at] ?? null,
        proceeds: close,
      },
    ];
  });
}

/** Members of a row that has no corporate action in the store. */
const NO_ELECTION = {
  cash: null,
  announced: null,
  state: 'effective',
  awaits_decision: false,
  election_date: null,
  election_default: null,
  choices: [],
  dividend_return: null,
  net_dividend_return: null,
  dividend_points: null,
  net_dividend_points: null,
  received: null,
} satisfies Partial<ActionRow>;
