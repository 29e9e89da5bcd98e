import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import { createIndexTerms } from '../books/index-run.js';
import { computeGrowth } from '../market/growth.js';
import { createExchangeRates } from '../market/rates.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import {
  type Evaluation,
  findState,
  measureSensitivity,
  selectVariant,
  type CauseSubject,
} from './difference-terms.js';

/** Constituents from outside after the close of a day: weights, or numbers of shares. */
export interface OutsideComposition {
  readonly date: string;
  readonly weights?: Readonly<Record<string, number>> | undefined;
  readonly index_shares?: Readonly<Record<string, number>> | undefined;
}

/** Parts of the difference on the last common session, in basis points of the own level. Their sum is the difference. */
export interface DifferenceParts {
  readonly selection: number;
  readonly weights: number;
  readonly prices: number;
  readonly events: number;
  readonly arithmetic: number;
}

/** Subjects of causes that belong to prices and to events; other causes are arithmetic, unless compositions show them. */
const PRICE_SUBJECTS: ReadonlySet<CauseSubject> = new Set(['price', 'currency']);
const EVENT_SUBJECTS: ReadonlySet<CauseSubject> = new Set([
  'dividend',
  'special_dividend',
  'split',
  'spin_off',
  'rights',
  'removal',
  'variant',
  'tax',
  'reinvestment',
]);

export interface PartsInput {
  readonly own: Evaluation;
  readonly compositions: readonly OutsideComposition[];
  /** Last common session. */
  readonly last: Day;
  /** Outside level over own level on the last common session, less 1, in basis points. */
  readonly total: number;
  readonly causes: readonly { readonly subject: CauseSubject; readonly effect_bps: number }[];
}

/** Weights by market column after the close of a session. */
interface Holdings {
  readonly session: number;
  readonly own: ReadonlyMap<number, number>;
  readonly outside: ReadonlyMap<number, number>;
}

/**
 * Divides a difference. Selection is the effect of the constituents: those of the outside level with the weights of the
 * run, or with their own weights if the run does not hold them. Weights are the effect of the other weights of these
 * constituents. Both are measured with the prices and events of the run, from each composition to the next one or to the
 * next review of the run. Prices and events are the effects of causes; arithmetic is the rest.
 * @throws Refusal VALIDATION_FAILED for an unknown security, or a day outside the run
 */
export function divideDifference({ own, compositions, last: lastDay, total, causes }: PartsInput): DifferenceParts {
  const { rule, terms } = own;
  const { sm, list } = rule;
  const growth = computeGrowth(sm, createIndexTerms(rule, selectVariant(own.compositions, terms.variant).variant));
  const last = sm.sessionAt(lastDay);
  const holdings = compositions
    .map((composition) => readHoldings(own, composition))
    .toSorted((a, b) => a.session - b.session);
  let [selection, weights] = [1, 1];
  holdings.forEach((held, k) => {
    const review = list.find(({ session }) => session > held.session)?.session ?? last;
    const to = Math.min(holdings[k + 1]?.session ?? last, review, last);
    const sensitivity = to > held.session ? (measureSensitivity(own, held.session + 1) ?? 1) : 1;
    const grow = (weightOf: ReadonlyMap<number, number>): number =>
      growHoldings(weightOf, { sm, growth, from: held.session, to });
    const [ofRun, selected, outside] = [held.own, selectHoldings(held), held.outside].map(grow) as [
      number,
      number,
      number,
    ];
    selection *= 1 + sensitivity * (selected / ofRun - 1);
    weights *= 1 + sensitivity * (outside / selected - 1);
  });
  const sum = (subjects: ReadonlySet<CauseSubject>): number =>
    causes.reduce((all, { subject, effect_bps: effect }) => all + (subjects.has(subject) ? effect : 0), 0);
  const parts = {
    selection: (selection - 1) * 10_000,
    weights: (weights - 1) * 10_000,
    prices: sum(PRICE_SUBJECTS),
    events: sum(EVENT_SUBJECTS),
  };
  return { ...parts, arithmetic: total - parts.selection - parts.weights - parts.prices - parts.events };
}

function readHoldings(own: Evaluation, { date, weights, index_shares: shares }: OutsideComposition): Holdings {
  const { sm, first, document } = own.rule;
  const session = sm.sessionAt(parseValidDay(date));
  const [from, to] = [own.days[0]!, own.days.at(-1)!];
  if (session < first || parseValidDay(date) > to)
    throw new Refusal(
      'VALIDATION_FAILED',
      `The composition of ${date} is outside the run, which covers ${formatDay(from)} to ${formatDay(to)}.`,
      { date },
    );
  const rates = createExchangeRates(sm, document.currency);
  const values = Object.entries(weights ?? shares!).map(([identifier, number]) => {
    const column = sm.columnOf(identifier);
    const price = column < 0 ? Number.NaN : sm.carriedClose(session, column) * rates.rateAt(session, column);
    if (!(price > 0))
      throw new Refusal(
        'VALIDATION_FAILED',
        `The composition of ${date} has the security ${identifier}, of which the store has no price on or before this day.`,
        { date, identifier },
      );
    return [column, weights === undefined ? number * price : number] as const;
  });
  const sum = values.reduce((all, [, value]) => all + value, 0);
  const { held, weights: own_ } = findState(own, session).end;
  return {
    session,
    own: new Map(Array.from(held, (column, k) => [column, own_[k]!])),
    outside: new Map(values.map(([column, value]) => [column, value / sum])),
  };
}

/** Returns the constituents of the outside level with the weights of the run as far as it holds them. */
function selectHoldings({ own, outside }: Holdings): ReadonlyMap<number, number> {
  const values = [...outside].map(([column, weight]) => [column, own.get(column) ?? weight] as const);
  const sum = values.reduce((all, [, value]) => all + value, 0);
  return new Map(values.map(([column, value]) => [column, value / sum]));
}

interface GrowthSpan {
  readonly sm: SessionMarket;
  readonly growth: Float64Array;
  readonly from: number;
  readonly to: number;
}

/** Returns the growth of holdings without trades. @cost O(sessions x holdings) */
function growHoldings(weights: ReadonlyMap<number, number>, { sm, growth, from, to }: GrowthSpan): number {
  let value = 0;
  for (const [column, weight] of weights) {
    let grown = weight;
    for (let session = from + 1; session <= to; session++) {
      const factor = growth[readPanelRow(sm, session) + column]!;
      if (factor > 0) grown *= factor;
    }
    value += grown;
  }
  return value;
}
