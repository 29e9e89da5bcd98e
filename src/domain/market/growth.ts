import type { TreatmentSpec } from '../documents/index-document.js';
import { ACTION_KINDS, type ReturnVariant } from './market-data.js';
import { exchangeRates, requireRate } from './exchange-rates.js';
import type { SessionAction } from './session-actions.js';
import type { SessionMarket } from './session-market.js';

/** What the growth of a unit of value depends on besides the market. */
export interface GrowthTerms {
  readonly variant: ReturnVariant;
  /** Fraction withheld from ordinary dividends; read by `net` only. */
  readonly withholdingTax: number;
  readonly specialDividends: TreatmentSpec['special_dividends'];
  readonly splits: TreatmentSpec['splits'];
  /** Currency of the index. */
  readonly currency: string;
}

export function growthTerms(treatment: TreatmentSpec, currency: string, variant: ReturnVariant = treatment.dividends): GrowthTerms {
  return {
    variant,
    withholdingTax: variant === 'net' ? treatment.withholding_tax : 0,
    specialDividends: treatment.special_dividends,
    splits: treatment.splits,
    currency,
  };
}

/** What happened to a name on a session, as far as it changes the value of a holding. */
export interface SessionEffect {
  /** Share-count multiplier of splits, stock dividends and bonus issues. */
  readonly ratio: number;
  /** Cash per share that the variant reinvests, on the new share basis. */
  readonly cash: number;
  /** Rights issued per share, and what a new share costs; zero without an issue that adjusts. */
  readonly rights: number;
  readonly subscription: number;
}

/** Growth panels kept per aligned market: three variants and the one of the moment. */
const PANELS_MAX = 4;

const kept = new WeakMap<SessionMarket, Map<string, Float64Array>>();

/**
 * Growth factors of one unit of value from the close before to the close of each session, in the index currency, [S x N].
 * NaN on the first session, before a name's second bar and where a rate is missing; 1 plus cash on a session without a bar.
 * @param used columns whose exchange rates must be there.
 * @throws Refusal FX_MISSING
 * @cost O(S N), once per market and terms
 */
export function growthOf(sm: SessionMarket, terms: GrowthTerms, used: Iterable<number> = []): Float64Array {
  const rates = exchangeRates(sm, terms.currency);
  for (const column of used) requireRate(rates, sm, sm.sessions.length - 1, column);
  let panels = kept.get(sm);
  if (!panels) kept.set(sm, (panels = new Map()));
  const key = JSON.stringify([terms.variant, terms.withholdingTax, terms.specialDividends, terms.splits, terms.currency]);
  let panel = panels.get(key);
  if (panel) panels.delete(key);
  else panel = growthPanel(sm, terms);
  panels.set(key, panel);
  if (panels.size > PANELS_MAX) panels.delete(panels.keys().next().value!);
  return panel;
}

/** The effects of a session by column; undefined when no action changes a value on it. */
export function effectsOn(sm: SessionMarket, terms: GrowthTerms, session: number): ReadonlyMap<number, SessionEffect> | undefined {
  const { all, starts } = sm.actions;
  let effects: Map<number, SessionEffect> | undefined;
  for (let a = starts[session]!; a < starts[session + 1]!; a++) {
    const placed = all[a]!;
    const change = effectOf(placed, sm, terms);
    if (change === undefined) continue;
    effects ??= new Map();
    const before = effects.get(placed.column) ?? NO_EFFECT;
    effects.set(placed.column, {
      ratio: before.ratio * change.ratio,
      cash: before.cash + change.cash,
      rights: before.rights + change.rights,
      subscription: change.rights === 0 ? before.subscription : change.subscription,
    });
  }
  return effects;
}

const NO_EFFECT: SessionEffect = { ratio: 1, cash: 0, rights: 0, subscription: 0 };

function effectOf({ action }: SessionAction, sm: SessionMarket, terms: GrowthTerms): SessionEffect | undefined {
  const { adjustment } = sm.market;
  if (adjustment === 'total') return undefined;
  if (ACTION_KINDS[action.type] === 'ratio') {
    return adjustment === 'none' && terms.splits === 'apply' ? { ...NO_EFFECT, ratio: action.value } : undefined;
  }
  switch (action.type) {
    case 'DIVIDEND': {
      const share = { price: 0, total: 1, net: 1 - terms.withholdingTax }[terms.variant];
      return share === 0 ? undefined : { ...NO_EFFECT, cash: share * action.value };
    }
    case 'SPECIAL_DIVIDEND':
    case 'RETURN_OF_CAPITAL':
      return terms.specialDividends === 'ignore' ? undefined : { ...NO_EFFECT, cash: action.value };
    case 'RIGHTS_ISSUE':
      if (action.subscriptionPrice === null || !(action.value > 0)) return undefined;
      return { ...NO_EFFECT, rights: action.value, subscription: action.subscriptionPrice };
    default:
      return undefined;
  }
}

function growthPanel(sm: SessionMarket, terms: GrowthTerms): Float64Array {
  const { names, rowOf, sessions, market } = sm;
  const close = market.fields.get('CLOSE')!;
  const growth = new Float64Array(sessions.length * names);
  // The last price of each name on the share basis of the session before.
  const carried = new Float64Array(names).fill(Number.NaN);
  for (let s = 0; s < sessions.length; s++) {
    const effects = effectsOn(sm, terms, s);
    const touched = effects ? touchedBefore(effects, carried) : [];
    growOverSession({ close, growth, carried, from: rowOf[s]! * names, to: s * names, names });
    for (const before of touched) applyEffect({ ...before, bar: sm.closeAt(s, before.column), at: s * names + before.column, growth, carried });
  }
  growth.fill(Number.NaN, 0, Math.min(names, growth.length));
  convert(sm, terms.currency, growth);
  return growth;
}

interface Grown {
  readonly close: Float64Array;
  readonly growth: Float64Array;
  readonly carried: Float64Array;
  /** Position of the session's bars in `close`, negative when there are none. */
  readonly from: number;
  /** Position of the session's factors in `growth`. */
  readonly to: number;
  readonly names: number;
}

function growOverSession({ close, growth, carried, from, to, names }: Grown): void {
  for (let i = 0; i < names; i++) {
    const before = carried[i]!;
    const price = from < 0 ? Number.NaN : close[from + i]!;
    if (price === price) {
      growth[to + i] = price / before;
      carried[i] = price;
    } else {
      growth[to + i] = before === before ? 1 : Number.NaN;
    }
  }
}

interface Touched {
  readonly column: number;
  readonly before: number;
  readonly effect: SessionEffect;
}

function touchedBefore(effects: ReadonlyMap<number, SessionEffect>, carried: Float64Array): Touched[] {
  return [...effects].map(([column, effect]) => ({ column, effect, before: carried[column]! }));
}

interface EffectApplied extends Touched {
  /** The session's own close, NaN without a bar. */
  readonly bar: number;
  readonly at: number;
  readonly growth: Float64Array;
  readonly carried: Float64Array;
}

function applyEffect({ column, before, effect, bar, at, growth, carried }: EffectApplied): void {
  if (!(before > 0)) return;
  const step = growthStep(effect, before, bar);
  growth[at] = step.factor;
  carried[column] = step.carried;
}

/**
 * Growth over a session on which something happened to a name.
 * @param before carried close of the session before, on its share basis.
 * @param bar close of the session, NaN without a bar.
 */
export function growthStep({ ratio, cash, rights, subscription }: SessionEffect, before: number, bar: number): { readonly factor: number; readonly carried: number } {
  const adjusted = rights === 0 ? before / ratio : (before / ratio + rights * subscription) / (1 + rights);
  if (bar !== bar) return { factor: 1 + cash / adjusted, carried: adjusted };
  return { factor: rights === 0 ? (ratio * (bar + cash)) / before : (bar + cash) / adjusted, carried: bar };
}

/** Multiplies by the change of each name's exchange rate. */
function convert(sm: SessionMarket, currency: string, growth: Float64Array): void {
  const { names, sessions } = sm;
  const rates = exchangeRates(sm, currency);
  for (let i = 0; i < names; i++) {
    if (rates.isNative(i)) continue;
    const series = rates.seriesOf(i);
    for (let s = 1; s < sessions.length; s++) growth[s * names + i]! *= series[s]! / series[s - 1]!;
  }
}
