import { z } from 'zod';
import { formatShare } from '../base/numbers.js';
import { defineObject, Id } from '../base/schema.js';
import { type Day, toCivilDate, toDay } from '../base/time.js';
import { checkValue, ComparisonValue, Condition } from '../datapoints/expression-checks.js';
import { describeComparison, describeCondition } from '../datapoints/expression-text.js';
import {
  type ComparisonNode,
  COMPARISONS,
  type ExpressionNode,
  type FieldUse,
  isExpressionNode,
  listComparisons,
  toNode,
  toRequest,
  TRUE,
  UNKNOWN,
  useCategory,
  useNumber,
} from '../datapoints/expression-tree.js';
import { createLatestRequest, LAG_SESSIONS_MAX } from '../datapoints/fields.js';
import * as parameters from './rule-parameters.js';
import {
  type Bounds,
  createReason,
  defineSelectionClass,
  describeMissingPolicy,
  formatBounds,
  formatList,
  keepWithin,
  listComparisonReasons,
  type MissingPolicy,
  nameUsedField,
  readValues,
  roundUpTolerantly,
  type Selection,
} from './selection.js';

interface BoundedFilter {
  readonly value: FieldUse;
  readonly bounds: Bounds;
  readonly missing: MissingPolicy;
  /** Describes the property of the kept securities. */
  readonly kept: string;
}

const keepBounded = ({ value, bounds, missing, kept }: BoundedFilter): Selection => ({
  reads: [value],
  remembers: (bounds.incumbentMinimum ?? null) !== null,
  sentence: `Keep securities with ${kept}; ${describeMissingPolicy(missing)}.`,
  select: (scope) =>
    keepWithin(scope, { values: readValues(scope, value), what: nameUsedField(value), bounds, missing }),
});

const categories = z.array(z.string()).min(1).max(1000).nullable().default(null);

export const categoryFilter = defineSelectionClass({
  type: 'CategoryFilter',
  label: 'Category filter',
  help: 'Keeps securities with a category in one list, and without a category in another list.',
  params: defineObject(() => ({
    field: parameters.fieldName,
    include: categories.meta({
      label: 'Include',
      help: 'Categories that are kept. Default: all categories that are not excluded.',
    }),
    exclude: categories.meta({ label: 'Exclude', help: 'Categories that are removed.' }),
    missing: parameters.missing,
  })).refine(({ include, exclude }) => include !== null || exclude !== null, {
    path: ['include'],
    params: { finding: 'MISSING_PARAMETER' },
    error: 'or exclude is required',
  }),
  example: {
    id: 'no-financials',
    type: 'CategoryFilter',
    params: { field: 'SECTOR', exclude: ['Financials', 'Real Estate'] },
  },
  behaviour({ field, include, exclude, missing }) {
    const use = useCategory(field, 'field');
    const includedGroups = include === null ? null : new Set(include);
    const excludedGroups = new Set(exclude ?? []);
    const conditionsText = [
      ...(include === null ? [] : [`one of ${formatList(include)}`]),
      ...(exclude === null ? [] : [`none of ${formatList(exclude)}`]),
    ].join(' and ');
    return {
      reads: [use],
      remembers: false,
      sentence: `Keep securities whose ${field} is ${conditionsText}; ${describeMissingPolicy(missing)}.`,
      select({ cross, columns }) {
        const { of, names } = cross.groups(use.field, columns);
        const isWantedGroup = (group: string | null): boolean =>
          group === null
            ? missing === 'include'
            : (includedGroups === null || includedGroups.has(group)) && !excludedGroups.has(group);
        const isKept = names.map(isWantedGroup);
        const keptFlags = new Uint8Array(of.length);
        for (let i = 0; i < of.length; i++) keptFlags[i] = isKept[of[i]!] ? 1 : 0;
        return {
          kept: keptFlags,
          because: (position) => createReason(`${field} ${conditionsText}`, { value: names[of[position]!]! }),
        };
      },
    };
  },
});

export const dividendFilter = defineSelectionClass({
  type: 'DividendFilter',
  label: 'Dividend filter',
  help: 'Keeps securities with a minimum trailing yield and an ordinary dividend in each of the last calendar years.',
  params: defineObject(() => ({
    minimum_yield: z.number().min(0).max(100).default(0).meta({
      label: 'Minimum yield',
      help: 'Minimum of the ordinary dividends of twelve months, divided by the close.',
      unit: 'fraction',
    }),
    minimum_years: z.int().min(0).max(100).default(0).meta({
      label: 'Minimum years',
      help: 'Number of complete calendar years before the decision, each with at least one ordinary dividend.',
      unit: 'years',
    }),
    missing: parameters.missing,
  })),
  example: { id: 'payers', type: 'DividendFilter', params: { minimum_yield: 0.02, minimum_years: 5 } },
  behaviour({ minimum_yield, minimum_years, missing }) {
    const value = useNumber('DIVIDEND_YIELD');
    return {
      reads: [value],
      remembers: false,
      dividendYears: minimum_years,
      sentence: `Keep securities with a trailing ${nameUsedField(value)} of at least ${formatShare(minimum_yield)} and an ordinary dividend in each of the last ${minimum_years} full calendar years; ${describeMissingPolicy(missing)}.`,
      select(scope) {
        const { cross, columns } = scope;
        const byYield = keepWithin(scope, {
          values: readValues(scope, value),
          what: nameUsedField(value),
          bounds: { minimum: minimum_yield, maximum: null },
          missing,
        });
        const years = listCalendarYears(cross.day, minimum_years);
        const computePaidYears = (column: number) =>
          years.filter(({ first, last }) => cross.dividends.paidBetween(column, first, last)).length;
        return {
          kept: byYield.kept.map((kept, i) => (kept === 1 && computePaidYears(columns[i]!) === minimum_years ? 1 : 0)),
          because(position) {
            const paidYears = computePaidYears(columns[position]!);
            if (paidYears === minimum_years) return byYield.because(position);
            return createReason(`years with an ordinary dividend at least ${minimum_years}`, {
              value: paidYears,
              thresholds: [
                {
                  type: 'minimum_years',
                  rank: null,
                  value: minimum_years,
                  met: false,
                  distance: minimum_years - paidYears,
                },
              ],
            });
          },
        };
      },
    };
  },
});

interface Year {
  readonly first: Day;
  readonly last: Day;
}

function listCalendarYears(day: Day, count: number): Year[] {
  const { year } = toCivilDate(day);
  return Array.from({ length: count }, (_, i) => ({
    first: toDay({ year: year - 1 - i, month: 1, day: 1 }),
    last: toDay({ year: year - 1 - i, month: 12, day: 31 }),
  }));
}

export const excludeList = defineSelectionClass({
  type: 'ExcludeList',
  label: 'Exclude list',
  help: 'Removes the securities of a list.',
  params: defineObject(() => ({ identifiers: parameters.identifiers })),
  example: { id: 'sanctioned', type: 'ExcludeList', params: { identifiers: ['XYZ'] } },
  behaviour({ identifiers: listed }) {
    const listedIdentifiers = new Set(listed);
    return {
      reads: [],
      remembers: false,
      sentence: `Remove these securities: ${formatList(listed)}.`,
      select: ({ columns, identifiers }) => ({
        kept: Uint8Array.from(columns, (column) => (listedIdentifiers.has(identifiers[column]!) ? 0 : 1)),
        because: (position) =>
          createReason('not on the list', { value: !listedIdentifiers.has(identifiers[columns[position]!]!) }),
      }),
    };
  },
});

export const expressionFilter = defineSelectionClass({
  type: 'ExpressionFilter',
  label: 'Expression filter',
  help: 'Keeps securities for which an expression of datapoints is true.',
  params: defineObject(() => ({
    expression: Condition.meta({
      label: 'Expression',
      help: 'Condition as text, or a tree of all, any, not and comparisons.',
      ref: 'ExpressionNode',
      format: 'condition',
    }),
    missing: parameters.missing.meta({
      label: 'Missing values',
      help: 'Treatment of a security for which the expression is unknown because a datapoint is missing.',
    }),
  })),
  example: {
    id: 'liquid-technology',
    type: 'ExpressionFilter',
    params: {
      expression: {
        node: 'all',
        operands: [
          { node: 'comparison', field: { node: 'field', name: 'SECTOR' }, comparison: 'eq', value: 'Technology' },
          {
            node: 'comparison',
            field: { node: 'field', name: 'VALUE_TRADED', aggregate: 'median', window: 60 },
            comparison: 'ge',
            value: 1_000_000,
          },
        ],
      },
    },
  },
  behaviour({ expression, missing }) {
    const text = describeCondition(expression);
    return {
      reads: listComparisons(expression).flatMap(({ node, path }): FieldUse[] => {
        const nodePath = path === '' ? 'expression' : `expression.${path}`;
        const fieldUse: FieldUse = { field: node.field, path: `${nodePath}.field`, as: 'any', money: false };
        if (!isExpressionNode(node.value)) return [{ ...fieldUse, comparison: node }];
        return [
          { ...fieldUse, as: 'number' },
          { field: node.value, path: `${nodePath}.value`, as: 'number', money: false },
        ];
      }),
      remembers: false,
      sentence: `Keep securities for which this is true: ${text}; ${missing === 'exclude' ? 'securities for which it is unknown are excluded' : 'securities for which it is unknown are kept'}.`,
      select({ cross, columns }) {
        const truths = cross.truths(expression, columns);
        const keptFlags = truths.map((truth) =>
          truth === TRUE || (truth === UNKNOWN && missing === 'include') ? 1 : 0,
        );
        return {
          kept: keptFlags,
          because: (position) =>
            createReason(text, { comparisons: listComparisonReasons(expression, cross, { columns, position }) }),
        };
      },
    };
  },
});

export const fieldFilter = defineSelectionClass({
  type: 'FieldFilter',
  label: 'Field filter',
  help: 'Keeps securities whose datapoint satisfies one comparison. It is a short form of ExpressionFilter.',
  params: defineObject(() => ({
    field: parameters.field,
    comparison: z.enum(COMPARISONS).meta({ label: 'Comparison' }),
    value: ComparisonValue,
    missing: parameters.missing,
  })).superRefine(({ comparison, value }, context) => {
    const problem = value === undefined ? undefined : checkValue(comparison, value);
    if (problem !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['value'],
        input: value,
        params: { finding: problem.code },
        message: problem.message,
      });
  }),
  example: { id: 'dollars', type: 'FieldFilter', params: { field: 'CURRENCY', comparison: 'eq', value: 'USD' } },
  behaviour({ field, comparison, value, missing }) {
    const node: ComparisonNode = {
      node: 'comparison',
      field: toNode(toRequest(field)),
      comparison,
      value,
    };
    const text = describeComparison(node);
    return {
      reads: [{ field: node.field, path: 'field', as: 'any', money: false, comparison: node }],
      remembers: false,
      sentence: `Keep securities with ${text}; ${describeMissingPolicy(missing)}.`,
      select({ cross, columns }) {
        const truths = cross.truths(node, columns);
        const keptFlags = truths.map((truth) =>
          truth === TRUE || (truth === UNKNOWN && missing === 'include') ? 1 : 0,
        );
        return {
          kept: keptFlags,
          because(position) {
            const [met] = listComparisonReasons(node, cross, { columns, position });
            const threshold = typeof value === 'number' ? value : null;
            const isOnLine = threshold !== null && typeof met!.value === 'number' && comparison !== 'ne';
            const isKept = keptFlags[position] === 1;
            const distance = isKept ? 0 : isOnLine ? Math.abs((met!.value as number) - threshold) : null;
            const bound = { type: 'comparison', rank: null, value: threshold, met: isKept, distance } as const;
            return createReason(text, { value: met!.value, thresholds: threshold === null ? [] : [bound], distance });
          },
        };
      },
    };
  },
});

export const freeFloatFilter = defineSelectionClass({
  type: 'FreeFloatFilter',
  label: 'Free float filter',
  help: 'Keeps securities with a minimum free float.',
  params: defineObject(() => ({
    minimum: z
      .number()
      .min(0)
      .max(1)
      .default(0.15)
      .meta({ label: 'Minimum', help: 'Minimum free float, as a fraction of the shares.', unit: 'fraction' }),
    missing: parameters.missing,
  })),
  example: { id: 'float', type: 'FreeFloatFilter', params: { minimum: 0.15 } },
  behaviour({ minimum, missing }) {
    const value = useNumber('FREE_FLOAT');
    const bounds = { minimum, maximum: null };
    return keepBounded({ value, bounds, missing, kept: `a ${nameUsedField(value)} ${formatBounds(bounds)}` });
  },
});

export const historyFilter = defineSelectionClass({
  type: 'HistoryFilter',
  label: 'History filter',
  help: 'Keeps securities with price bars on a minimum fraction of the trailing sessions.',
  params: defineObject(() => ({
    sessions: z
      .int()
      .min(1)
      .max(LAG_SESSIONS_MAX)
      .default(252)
      .meta({ label: 'Sessions', help: 'Number of trailing sessions.', unit: 'sessions' }),
    coverage: z
      .number()
      .min(0)
      .max(1)
      .default(0.95)
      .meta({ label: 'Coverage', help: 'Minimum fraction of the sessions with a price bar.', unit: 'fraction' }),
    missing: parameters.missing,
  })),
  example: { id: 'history', type: 'HistoryFilter', params: { sessions: 252, coverage: 0.95 } },
  behaviour({ sessions, coverage, missing }) {
    const field = createLatestRequest('CLOSE', { aggregate: 'count', window: sessions });
    const value = useNumber(field);
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep securities with price bars on at least ${formatShare(coverage)} of the trailing ${sessions} sessions; ${describeMissingPolicy(missing)}.`,
      select(scope) {
        const bars = scope.cross.count(field, scope.columns);
        const bounds = { minimum: roundUpTolerantly(coverage * sessions), maximum: null };
        return keepWithin(scope, {
          values: bars,
          what: `price bars on the trailing ${sessions} sessions`,
          bounds,
          missing,
        });
      },
    };
  },
});

export const includeList = defineSelectionClass({
  type: 'IncludeList',
  label: 'Include list',
  help: 'Keeps only the securities of a list.',
  params: defineObject(() => ({ identifiers: parameters.identifiers })),
  example: { id: 'approved', type: 'IncludeList', params: { identifiers: ['AAPL', 'MSFT', 'NVDA'] } },
  behaviour({ identifiers: listed }) {
    const listedIdentifiers = new Set(listed);
    return {
      reads: [],
      remembers: false,
      sentence: `Keep only these securities: ${formatList(listed)}.`,
      select: ({ columns, identifiers }) => ({
        kept: Uint8Array.from(columns, (column) => (listedIdentifiers.has(identifiers[column]!) ? 1 : 0)),
        because: (position) =>
          createReason('on the list', { value: listedIdentifiers.has(identifiers[columns[position]!]!) }),
      }),
    };
  },
});

export const liquidityFilter = defineSelectionClass({
  type: 'LiquidityFilter',
  label: 'Liquidity filter',
  help: 'Keeps securities with a minimum daily traded value. A separate minimum can apply to constituents.',
  params: defineObject(() => ({
    minimum: parameters.defineMoneyRequired(
      'Minimum',
      'Minimum daily traded value.',
      'money per day in index currency',
    ),
    window: parameters.defineWindow(60),
    statistic: z
      .enum(['median', 'mean'])
      .default('median')
      .meta({ label: 'Statistic', help: 'Aggregate of the daily values.' }),
    incumbent_minimum: parameters.defineMoneyPerDay(
      'Incumbent minimum',
      'Minimum daily traded value of a constituent. Default: same as for other securities.',
    ),
    missing: parameters.missing,
  })),
  example: {
    id: 'liquid',
    type: 'LiquidityFilter',
    params: { minimum: 5_000_000, window: 60, incumbent_minimum: 3_000_000 },
  },
  behaviour({ minimum, window, statistic, incumbent_minimum, missing }) {
    const value = useNumber(createLatestRequest('VALUE_TRADED', { aggregate: statistic, window }));
    const bounds = { minimum, maximum: null, incumbentMinimum: incumbent_minimum };
    return keepBounded({
      value,
      bounds,
      missing,
      kept: `a ${nameUsedField(value)} ${formatBounds(bounds)} in index currency`,
    });
  },
});

const order = parameters.requireOrder('minimum', 'maximum');

export const marketCapFilter = defineSelectionClass({
  type: 'MarketCapFilter',
  label: 'Market capitalisation filter',
  help: 'Keeps securities with a market capitalisation between two bounds. A separate minimum can apply to constituents.',
  params: defineObject(() => ({
    minimum: parameters.defineMoneyBound('Minimum', 'Minimum market capitalisation; null: no minimum.'),
    maximum: parameters.defineMoneyBound('Maximum', 'Maximum market capitalisation; null: no maximum.'),
    free_float: z
      .boolean()
      .default(true)
      .meta({ label: 'Free float', help: 'True uses only the shares in free float.' }),
    incumbent_minimum: parameters.defineMoneyBound(
      'Incumbent minimum',
      'Minimum market capitalisation of a constituent. Default: same as for other securities.',
    ),
    missing: parameters.missing,
  })).refine(order.check, order.issue),
  example: {
    id: 'size',
    type: 'MarketCapFilter',
    params: { minimum: 2_000_000_000, incumbent_minimum: 1_500_000_000 },
  },
  behaviour({ minimum, maximum, free_float, incumbent_minimum, missing }) {
    const value = useNumber(free_float ? 'FREE_FLOAT_MARKET_CAP' : 'MARKET_CAP');
    const bounds = { minimum, maximum, incumbentMinimum: incumbent_minimum };
    return keepBounded({
      value,
      bounds,
      missing,
      kept: `a ${nameUsedField(value)} ${formatBounds(bounds)} in index currency`,
    });
  },
});

export const membershipFilter = defineSelectionClass({
  type: 'MembershipFilter',
  label: 'Membership filter',
  help: 'Keeps the constituents of the last decided composition of another index, or all other securities.',
  params: defineObject(() => ({
    index_id: Id.meta({ label: 'Index', help: 'Id of a stored index.' }),
    in: z
      .boolean()
      .default(true)
      .meta({ label: 'Constituents', help: 'If false, the constituents of the index are excluded.' }),
  })),
  example: { id: 'outside', type: 'MembershipFilter', params: { index_id: 'CORE-40', in: false } },
  behaviour({ index_id: indexId, in: isIn }) {
    const membership: ExpressionNode = {
      node: 'function',
      name: 'member_of',
      operands: [{ node: 'value', value: indexId }],
    };
    const value = useNumber(membership, 'index_id');
    const test = `${isIn ? 'a' : 'not a'} constituent of ${indexId}`;
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep the securities that are ${isIn ? 'constituents' : 'not constituents'} of the index ${indexId} as last decided.`,
      select(scope) {
        const members = readValues(scope, value);
        return {
          kept: Uint8Array.from(members, (member) => ((member === 1) === isIn ? 1 : 0)),
          because: (position) => createReason(test, { value: members[position] === 1 }),
        };
      },
    };
  },
});

export const momentumFilter = defineSelectionClass({
  type: 'MomentumFilter',
  label: 'Momentum filter',
  help: 'Keeps securities with a minimum total return over a window that skips the latest sessions. The return includes the growth over missing price bars.',
  params: defineObject(() => ({
    window: parameters
      .defineWindow(252)
      .meta({ label: 'Window', help: 'Number of trailing sessions before the skipped sessions.', unit: 'sessions' }),
    skip: z
      .int()
      .min(0)
      .max(LAG_SESSIONS_MAX)
      .default(21)
      .meta({ label: 'Skip', help: 'Number of latest sessions that are skipped.', unit: 'sessions' }),
    minimum: z
      .number()
      .min(-1)
      .max(1e6)
      .default(0)
      .meta({ label: 'Minimum', help: 'Minimum return over the window.', unit: 'fraction' }),
    missing: parameters.missing,
  })),
  example: { id: 'winners', type: 'MomentumFilter', params: { window: 252, skip: 21, minimum: 0 } },
  behaviour({ window, skip, minimum, missing }) {
    const value = useNumber(createLatestRequest('MOMENTUM', { window, lag: skip }));
    const bounds = { minimum, maximum: null };
    return keepBounded({ value, bounds, missing, kept: `a ${nameUsedField(value)}, ${formatBounds(bounds)}` });
  },
});

export const pluginFilter = defineSelectionClass({
  type: 'PluginFilter',
  label: 'Plug-in filter',
  takesPlugin: true,
  help: 'Keeps securities that a plug-in of the document keeps.',
  params: defineObject(() => ({ plugin: parameters.pluginName, missing: parameters.missing })),
  example: { id: 'near-high', type: 'PluginFilter', params: { plugin: 'NEAR_HIGH' } },
  behaviour({ plugin, missing }) {
    const value = useNumber(plugin, 'plugin');
    return {
      reads: [value],
      remembers: false,
      sentence: `Keep securities that the plug-in ${plugin} keeps; ${describeMissingPolicy(missing)}.`,
      select(scope) {
        const values = readValues(scope, value);
        const keptFlags = Uint8Array.from(values, (found) =>
          Number(found === found ? found !== 0 : missing === 'include'),
        );
        return {
          kept: keptFlags,
          because: (position) =>
            createReason(`kept by ${plugin}`, { value: Number.isNaN(values[position]!) ? null : values[position]! }),
        };
      },
    };
  },
});

export const priceFilter = defineSelectionClass({
  type: 'PriceFilter',
  label: 'Price filter',
  help: 'Keeps securities with a close between two bounds.',
  params: defineObject(() => ({
    minimum: parameters.defineMoneyBound('Minimum', 'Minimum close; null: no minimum.'),
    maximum: parameters.defineMoneyBound('Maximum', 'Maximum close; null: no maximum.'),
    missing: parameters.missing,
  })).refine(order.check, order.issue),
  example: { id: 'no-penny-shares', type: 'PriceFilter', params: { minimum: 5 } },
  behaviour({ minimum, maximum, missing }) {
    const value = useNumber('CLOSE', '', true);
    const bounds = { minimum, maximum };
    return keepBounded({
      value,
      bounds,
      missing,
      kept: `a ${nameUsedField(value)} ${formatBounds(bounds)} in index currency`,
    });
  },
});

export const rangeFilter = defineSelectionClass({
  type: 'RangeFilter',
  label: 'Range filter',
  help: 'Keeps securities with a datapoint between two bounds.',
  params: defineObject(() => ({
    field: parameters.field,
    minimum: parameters.defineBound('Minimum', 'Lower bound; null: no lower bound.'),
    maximum: parameters.defineBound('Maximum', 'Upper bound; null: no upper bound.'),
    inclusive: z.boolean().default(true).meta({ label: 'Inclusive', help: 'True if a value equal to a bound passes.' }),
    missing: parameters.missing,
  })).refine(order.check, order.issue),
  example: { id: 'moderate-beta', type: 'RangeFilter', params: { field: 'BETA', minimum: 0.5, maximum: 1.5 } },
  behaviour({ field, minimum, maximum, inclusive, missing }) {
    const value = useNumber(field, 'field');
    const bounds = { minimum, maximum, inclusive };
    return keepBounded({ value, bounds, missing, kept: `a ${nameUsedField(value)} ${formatBounds(bounds)}` });
  },
});

export const seasoningFilter = defineSelectionClass({
  type: 'SeasoningFilter',
  label: 'Seasoning filter',
  help: 'Keeps securities that have been trading for a minimum time.',
  params: defineObject(() => ({
    sessions: z
      .int()
      .min(0)
      .max(LAG_SESSIONS_MAX)
      .default(63)
      .meta({ label: 'Sessions', help: 'Minimum number of sessions since the first price bar.', unit: 'sessions' }),
    missing: parameters.missing,
  })),
  example: { id: 'seasoned', type: 'SeasoningFilter', params: { sessions: 63 } },
  behaviour({ sessions, missing }) {
    const value = useNumber('AGE');
    const bounds = { minimum: sessions, maximum: null };
    return keepBounded({
      value,
      bounds,
      missing,
      kept: `an ${nameUsedField(value)} ${formatBounds(bounds)} sessions since their first price bar`,
    });
  },
});

export const volatilityFilter = defineSelectionClass({
  type: 'VolatilityFilter',
  label: 'Volatility filter',
  help: 'Keeps securities with an annualised volatility between two bounds. The volatility uses the returns between price bars on consecutive sessions.',
  params: defineObject(() => ({
    window: parameters.defineWindow(252),
    maximum: parameters.defineBound('Maximum', 'Maximum volatility; null: no maximum.', 'fraction per year'),
    minimum: parameters.defineBound('Minimum', 'Minimum volatility; null: no minimum.', 'fraction per year'),
    missing: parameters.missing,
  })).refine(order.check, order.issue),
  example: { id: 'calm', type: 'VolatilityFilter', params: { window: 252, maximum: 0.4 } },
  behaviour({ window, minimum, maximum, missing }) {
    const value = useNumber(createLatestRequest('VOLATILITY', { window }));
    const bounds = { minimum, maximum };
    return keepBounded({ value, bounds, missing, kept: `a ${nameUsedField(value)} ${formatBounds(bounds)} per year` });
  },
});
