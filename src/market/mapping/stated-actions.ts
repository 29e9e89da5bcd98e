import { formatDay } from '#domain/time/days.js';
import type { DerivedActions, Mapping } from '#domain/documents/mapping.js';
import type { CorporateAction, MarketData } from '#domain/market/market-data.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import type { DividendError } from '../content/dividend-errors.js';
import { computeUnit, SINGLE_PRECISION } from '../content/written-precision.js';
import { removeEmptyLines, type Panels } from '../panels/panels.js';
import type { Problems } from '../tables/problems.js';
import { createCloses, createPlainAction, deriveActions, type Closes } from './adjusted-closes.js';
import { ADJUSTED_CLOSE } from './mapped-columns.js';
import { STATED_DIVIDENDS, STATED_GAINS, STATED_SPLITS } from './own-dividends.js';

/** Panels without the columns from which actions are read, and these actions. */
export interface DerivedMarket {
  readonly panels: Panels;
  readonly actions: readonly CorporateAction[];
  readonly derived: DerivedActions;
  readonly errors: readonly DividendError[];
}

type Terms = Pick<Mapping, 'adjusted_close' | 'dividends_from'> & { readonly adjustment: MarketData['adjustment'] };

/**
 * Returns the actions that adjusted closes imply or that the vendor states, as the mapping requires. Reports each
 * difference between both.
 * @cost O(days x securities)
 */
export function readVendorActions(panels: Panels, terms: Terms, problems: Problems): DerivedMarket {
  const { fields } = panels;
  const implied = deriveActions(panels, terms.adjustment, problems);
  const stated = listStatedActions(panels, terms.adjustment);
  const hasDividends = fields.has(STATED_DIVIDENDS);
  if (fields.has(ADJUSTED_CLOSE))
    for (const [column, type] of [
      [STATED_DIVIDENDS, 'DIVIDEND'],
      [STATED_SPLITS, 'SPLIT'],
    ] as const)
      if (fields.has(column) && (type === 'DIVIDEND' || terms.adjustment === 'none'))
        compareActions({ panels, type, terms, stated, implied }, problems);
  const isStated = terms.dividends_from === 'column';
  if (isStated && !hasDividends)
    problems.error({
      code: 'MISSING_COLUMN',
      path: 'mapping.dividends_from',
      column: 'Dividends',
      message: 'dividends_from is column, but the market has no column of dividends, such as Dividends or divCash.',
    });
  const splits = isStated && fields.has(STATED_SPLITS) ? stated : implied.actions;
  const actions = [
    ...(isStated ? stated : implied.actions).filter(({ type }) => type === 'DIVIDEND'),
    ...splits.filter(({ type }) => type === 'SPLIT'),
  ];
  const dividends = actions.filter(({ type }) => type === 'DIVIDEND').length;
  return {
    panels: removeEmptyLines({
      ...panels,
      fields: new Map([...fields].filter(([name]) => !name.startsWith('\u0000'))),
    }),
    actions,
    derived: { dividends, splits: actions.length - dividends },
    errors: isStated ? [] : implied.errors,
  };
}

/** Returns the dividends and splits in the columns of the vendor. Splits count only if closes are as traded. */
function listStatedActions(
  { identifiers, dates, fields }: Panels,
  adjustment: MarketData['adjustment'],
): CorporateAction[] {
  const dividends = fields.get(STATED_DIVIDENDS);
  const gains = dividends && fields.get(STATED_GAINS);
  const splits = adjustment === 'none' ? fields.get(STATED_SPLITS) : undefined;
  const results: CorporateAction[] = [];
  if (dividends === undefined && splits === undefined) return results;
  dates.forEach((exDay, t) => {
    for (let n = 0; n < identifiers.length; n++) {
      const cell = t * identifiers.length + n;
      const cash = readNumber(dividends, cell) + readNumber(gains, cell);
      const ratio = readNumber(splits, cell);
      const identifier = identifiers[n]!;
      if (cash > 0) results.push(createPlainAction({ identifier, type: 'DIVIDEND', value: cash, exDay }));
      if (ratio > 0 && ratio !== 1) results.push(createPlainAction({ identifier, type: 'SPLIT', value: ratio, exDay }));
    }
  });
  return results;
}

const readNumber = (panel: Float64Array | undefined, cell: number) => {
  const value = panel?.[cell] ?? 0;
  return value > 0 ? value : 0;
};

/** Maximum unit of the last decimal of prices and dividends. Without it, whole numbers would have a unit of 1. */
const UNIT_MAX = 0.01;
/** Maximum difference of two ratios of a split, as a fraction. */
const SPLIT_TOLERANCE = 1e-3;

interface Comparison {
  readonly panels: Panels;
  readonly type: 'DIVIDEND' | 'SPLIT';
  readonly terms: Terms;
  readonly stated: readonly CorporateAction[];
  readonly implied: { readonly actions: readonly CorporateAction[]; readonly errors: readonly DividendError[] };
}

/** Reports the differences between the dividends or splits of both sources, by security and bar. */
function compareActions({ panels, type, terms, stated, implied }: Comparison, problems: Problems): void {
  const adjustedCloses = panels.fields.get(ADJUSTED_CLOSE)!; // the caller has checked it
  const [adjusted, used] = [
    terms.adjusted_close,
    terms.dividends_from === 'column' ? 'The column' : terms.adjusted_close,
  ];
  const formatAction = (value: number) =>
    value === 0 ? 'none' : `a ${type === 'DIVIDEND' ? 'dividend' : 'split'} of ${value}`;
  const [statedActions, impliedActions] = [groupBySecurity(stated, type), groupBySecurity(implied.actions, type)];
  const errors = new Map(implied.errors.map(({ identifier, exDay, error }) => [`${identifier} ${exDay}`, error]));
  panels.identifiers.forEach((identifier, n) => {
    const [own, derived] = [statedActions.get(identifier) ?? [], impliedActions.get(identifier) ?? []];
    if (own.length + derived.length === 0) return;
    const closes = createCloses(panels, adjustedCloses, n);
    const [ownSums, derivedSums] = [sumByBar(own, closes), sumByBar(derived, closes)];
    const unit = Math.min(UNIT_MAX, computeUnit(own.map(({ value }) => value)));
    for (const bar of [...new Set([...ownSums.keys(), ...derivedSums.keys()])].toSorted((a, b) => a - b)) {
      const [ownValue, derivedValue] = [ownSums.get(bar) ?? 0, derivedSums.get(bar) ?? 0];
      const day = closes.days[bar]!;
      const error = errors.get(`${identifier} ${day}`) ?? computeTolerance(closes, bar);
      const tolerance = type === 'SPLIT' ? SPLIT_TOLERANCE * ownValue : error + unit / 2;
      if (Math.abs(ownValue - derivedValue) <= tolerance) continue;
      problems.warning({
        code: 'ADJUSTMENT_UNEXPLAINED',
        path: `market.${identifier}`,
        message: `The column of the vendor states ${formatAction(ownValue)} for ${identifier} on ${formatDay(day)}, and ${adjusted} implies ${formatAction(derivedValue)}. ${used} is used.`,
        value: formatDay(day),
      });
    }
  });
}

function groupBySecurity(
  actions: readonly CorporateAction[],
  type: CorporateAction['type'],
): ReadonlyMap<string, readonly CorporateAction[]> {
  const groups = new Map<string, CorporateAction[]>();
  for (const action of actions) {
    if (action.type !== type) continue;
    const group = groups.get(action.identifier);
    if (group === undefined) groups.set(action.identifier, [action]);
    else group.push(action);
  }
  return groups;
}

/** Returns the sum of dividends, or the product of splits, of a security by bar, except for its first bar. */
function sumByBar(actions: readonly CorporateAction[], closes: Closes): Map<number, number> {
  const days = Int32Array.from(closes.days);
  const sums = new Map<number, number>();
  for (const { type, value, exDay } of actions) {
    const bar = findFirstAtLeast(days, exDay);
    if (bar === 0 || bar === days.length) continue;
    const before = sums.get(bar);
    sums.set(bar, before === undefined ? value : type === 'SPLIT' ? before * value : before + value);
  }
  return sums;
}

/** Returns the largest dividend that the rounding of closes hides. */
function computeTolerance({ close, adjusted }: Closes, bar: number): number {
  const unit = Math.min(UNIT_MAX, computeUnit(adjusted));
  const rounding = unit / adjusted[bar - 1]! + unit / adjusted[bar]! + 16 * SINGLE_PRECISION;
  return rounding * close[bar - 1]! + Math.min(UNIT_MAX, computeUnit(close));
}
