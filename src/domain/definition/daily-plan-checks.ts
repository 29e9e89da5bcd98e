import { z } from 'zod';
import { formatCount, formatNumber } from '../base/numbers.js';
import { defineObject, Id } from '../base/schema.js';
import { type Day, formatDay } from '../base/time.js';
import type { CorporateAction } from '../market/market-data.js';
import type { DeskState } from './action-desk.js';
import { computeHeadroom, LIMIT_RULE_NAMES, LIMIT_RULES } from './compliance.js';

/** Holding of an index at a close. */
export interface CheckedHolding {
  readonly identifier: string;
  /** Index shares times price times exchange rate, in the currency of the index. */
  readonly marketValue: number;
  /** Market value divided by the market value of the index. */
  readonly weight: number;
}

/** Holdings and divisor of an index on a session. */
export interface CheckedComposition {
  /** Holdings of securities, without cash. */
  readonly holdings: readonly CheckedHolding[];
  /** Cash in the currency of the index, and as a fraction of its market value; negative for borrowed money. */
  readonly cash: Pick<CheckedHolding, 'marketValue' | 'weight'>;
  readonly divisor: number | null;
  /** Return variant whose level equals market value divided by divisor. */
  readonly variant: (typeof LEVEL_VARIANTS)[number];
}

/** Levels of an index at a close; null for a variant without a level. */
export interface CheckedLevels {
  readonly price: number | null;
  readonly total: number | null;
  readonly net: number | null;
}

export const LEVEL_VARIANTS = ['price', 'total', 'net'] as const;

/** Data of one index on one session, from which checks are computed. */
export interface CheckInput {
  readonly indexId: string;
  readonly date: Day;
  /** Session before `date`. */
  readonly previous: Day;
  /**
   * Composition at the close of the session, or at the close of the run's last session if that is earlier. Null without
   * a run.
   */
  readonly closing: CheckedComposition | null;
  /** Composition before the session opens. Null if the run has no opening file. */
  readonly opening: CheckedComposition | null;
  /** Levels of the run by session, up to `date`. */
  readonly levels: ReadonlyMap<Day, CheckedLevels>;
  readonly published: ReadonlyMap<Day, CheckedLevels>;
  /** Number of decimals to which levels, divisors and weights are rounded; null without rounding. */
  readonly decimals: Readonly<Record<'level' | 'divisor' | 'weights', number | null>>;
  /** True if the index may hold short positions. */
  readonly maySellShort: boolean;
  /** Returns the close of a security on a day. Returns NaN without a price. */
  closeOn(identifier: string, day: Day): number;
  /** Returns the last days with any price, up to `date`, ascending. */
  lastDays(count: number): readonly Day[];
  /** Returns the corporate actions of a security, by ex-date. */
  actionsOf(identifier: string): readonly CorporateAction[];
  /** Returns the desk state of a constituent's action that takes effect on the session. */
  deskStateOf(action: CorporateAction): DeskState;
  /** Returns true if the exchange of a security was closed on the session. */
  isClosed(identifier: string): boolean;
  /** Returns true for a session of the index calendar. */
  isSession(day: Day): boolean;
  issuerOf(identifier: string): string;
  /** Returns the value of a series on a day. Returns NaN without a value. */
  seriesOn(identifier: string, day: Day): number;
  /** Securities whose changed history the refresh of the day rejected. Null on a day without a refresh. */
  readonly restated: ReadonlySet<string> | null;
}

export const CheckMeasure = defineObject(() => ({
  value: z.number().meta({ description: 'Measured value.' }),
  limit: z.number().meta({ description: 'Limit of the check.' }),
  unit: z
    .enum(['fraction', 'bp', 'sessions', 'constituents'])
    .meta({ description: 'Unit of the value and the limit.' }),
})).meta({ id: 'CheckMeasure' });
export type CheckMeasure = z.infer<typeof CheckMeasure>;

/** Prices of a security on two successive days with prices, and its weight in the checked composition. */
export interface MoveEvidence {
  /** Day of the previous close, YYYY-MM-DD. */
  readonly previous_date: string;
  readonly previous_close: number;
  readonly close: number;
  readonly weight: number;
}

/** Problem found by a check. */
export interface CheckFinding {
  /** Affected security; null for the index as a whole. */
  readonly identifier: string | null;
  readonly message: string;
  /** Measured number; absent for a finding without a number. */
  readonly measure?: CheckMeasure;
  /** Prices of a price move; absent for other findings. */
  readonly evidence?: MoveEvidence;
}

export type CheckSeverity = 'block' | 'warn';

interface CheckKind<P = never> {
  readonly schema: z.ZodObject;
  /** Sentence for the guide and the contract. */
  readonly help: string;
  /** True if the check needs the run of the session. A step before the runs cannot perform it. */
  readonly needsRun: boolean;
  /** Data that the check reads: members of `CheckInput`, or `decisions` of the desk of corporate actions. */
  readonly reads: readonly ('closing' | 'opening' | 'levels' | 'published' | 'decisions')[];
  judge(input: CheckInput, params: P): readonly CheckFinding[];
}

/** Creates a kind of check and keeps the literal types of its schema. */
function defineCheckKind<const S extends z.ZodObject>(
  kind: { readonly schema: S } & Omit<CheckKind<z.infer<S>>, 'schema'>,
) {
  return kind;
}

/** Returns the schema of the severity of a check, with a default. */
const defineSeverity = (standard: CheckSeverity) =>
  z
    .enum(['block', 'warn'])
    .default(standard)
    .meta({
      description: `Findings block the index (block), or are only reported (warn). Default: ${standard}.`,
    });

export const formatPercentText = (fraction: number): string => `${formatNumber(Number((100 * fraction).toFixed(2)))}%`;

const help =
  'The dates of corporate actions of constituents are plausible: ex-dates are sessions, announcements are before the ex-date, and payments are after it.';

const actionsCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('actions'),
    severity: defineSeverity('warn'),
    days_ahead: z
      .int()
      .min(0)
      .max(400)
      .default(10)
      .meta({ description: 'Number of calendar days after the session that are checked.' }),
  })).meta({ id: 'ActionsCheck', description: help }),
  help,
  needsRun: false,
  reads: ['closing'],
  judge({ closing, date, previous, actionsOf, isSession }, { days_ahead: ahead }) {
    return (closing?.holdings ?? []).flatMap(({ identifier }) =>
      actionsOf(identifier)
        .filter(({ exDay, status }) => exDay > previous && exDay <= date + ahead && status !== 'cancelled')
        .flatMap(({ type, exDay, announcedDay, payDay }) => {
          const name = `The ${type} of ${identifier} on ${formatDay(exDay)}`;
          const problems = [
            isSession(exDay) ? undefined : `${name} is not on a session.`,
            announcedDay !== null && announcedDay > exDay
              ? `${name} was announced after this date, on ${formatDay(announcedDay)}.`
              : undefined,
            payDay !== null && payDay < exDay
              ? `${name} is paid before this date, on ${formatDay(payDay)}.`
              : undefined,
          ];
          return problems.flatMap((message) => (message === undefined ? [] : [{ identifier, message }]));
        }),
    );
  },
});

const confirmedActionsHelp =
  'A person has confirmed the corporate actions of constituents that take effect on the session.';

const confirmedActionsCheck = defineCheckKind({
  schema: defineObject(() => ({ check: z.literal('confirmed_actions'), severity: defineSeverity('block') })).meta({
    id: 'ConfirmedActionsCheck',
    description: confirmedActionsHelp,
  }),
  help: confirmedActionsHelp,
  needsRun: true,
  reads: ['closing', 'opening', 'decisions'],
  judge({ closing, opening, date, previous, actionsOf, deskStateOf }) {
    const heldIdentifiers = new Set(
      [...(closing?.holdings ?? []), ...(opening?.holdings ?? [])].map((checkedHolding) => checkedHolding.identifier),
    );
    return [...heldIdentifiers].flatMap((identifier) =>
      actionsOf(identifier)
        .filter(({ exDay, status }) => exDay > previous && exDay <= date && status !== 'cancelled')
        .flatMap((action) => {
          const state = deskStateOf(action);
          if (state === 'confirmed') return [];
          const name = `The ${action.type} of ${identifier} on ${formatDay(action.exDay)}`;
          const problem = {
            new: 'is not confirmed.',
            amended: 'has other terms than at the time of the decision.',
            rejected: 'was rejected, but is still in the store.',
          }[state];
          return [{ identifier, message: `${name} ${problem}` }];
        }),
    );
  },
});

const coverageHelp =
  'Constituents that are traded on the session have a price. The check measures the weight of the constituents with a price.';

const coverageCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('coverage'),
    severity: defineSeverity('block'),
    minimum: z
      .number()
      .min(0)
      .max(1)
      .default(1)
      .meta({ description: 'Minimum weight of the constituents with a price.' }),
  })).meta({ id: 'CoverageCheck', description: coverageHelp }),
  help: coverageHelp,
  needsRun: false,
  reads: ['closing'],
  judge({ closing, date, closeOn, isClosed }, { minimum }) {
    const missingHoldings = (closing?.holdings ?? []).filter(
      ({ identifier }) => !isClosed(identifier) && Number.isNaN(closeOn(identifier, date)),
    );
    const weight = missingHoldings.reduce((sum, holding) => sum + holding.weight, 0);
    if (missingHoldings.length === 0 || 1 - weight >= minimum) return [];
    return missingHoldings.map((holding) => ({
      identifier: holding.identifier,
      message: `${holding.identifier} has no price. Constituents without a price have ${formatPercentText(weight)} of the index.`,
      measure: { value: 1 - weight, limit: minimum, unit: 'fraction' },
    }));
  },
});

const divisorHelp =
  'The market value divided by the divisor, including the cash of an overlay or a derived index, equals the level at the close. Before the open, it equals the level of the previous close, because no event changes the level.';

export const divisorCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('divisor'),
    severity: defineSeverity('block'),
    tolerance: z
      .number()
      .min(0)
      .max(0.1)
      .default(1e-9)
      .meta({ description: 'Largest relative difference, in addition to rounding.' }),
  })).meta({ id: 'DivisorCheck', description: divisorHelp }),
  help: divisorHelp,
  needsRun: true,
  reads: ['closing', 'opening', 'levels'],
  judge({ closing, opening, levels, date, previous, decimals }, { tolerance }) {
    const reportDifference = (composition: CheckedComposition | null, day: Day, when: string) => {
      const value = computeLevel(composition);
      const level = composition === null ? undefined : levels.get(day)?.[composition.variant];
      if (value === undefined || level == null) return [];
      const rounding =
        computeRoundingError(decimals.level, level) + computeRoundingError(decimals.divisor, composition!.divisor!); // the composition has a value, so its divisor is not null
      const difference = Math.abs(value / level - 1);
      if (difference <= tolerance + rounding) return [];
      const message = `The market value divided by the divisor ${when} is ${value}; the level is ${level}.`;
      return [
        {
          identifier: null,
          message,
          measure: { value: difference, limit: tolerance + rounding, unit: 'fraction' } as const,
        },
      ];
    };
    return [
      ...reportDifference(closing, date, 'at the close'),
      ...reportDifference(opening, previous, 'before the open'),
    ];
  },
});

const computeRoundingError = (decimals: number | null, value: number): number =>
  decimals === null ? 0 : Number(`0.5e-${decimals}`) / Math.abs(value);

function computeLevel(composition: CheckedComposition | null): number | undefined {
  if (composition === null || composition.divisor === null) return undefined;
  const { holdings, cash, divisor: by } = composition;
  if (holdings.length === 0 && cash.weight === 0) return undefined;
  return holdings.reduce((sum, { marketValue }) => sum + marketValue, cash.marketValue) / by;
}

const historyHelp = 'The refresh of the day does not change the history of constituents.';

const historyCheck = defineCheckKind({
  schema: defineObject(() => ({ check: z.literal('history'), severity: defineSeverity('block') })).meta({
    id: 'HistoryCheck',
    description: historyHelp,
  }),
  help: historyHelp,
  needsRun: false,
  reads: ['closing'],
  judge({ closing, restated }) {
    if (restated === null) return [];
    return (closing?.holdings ?? [])
      .filter(({ identifier }) => restated.has(identifier))
      .map(({ identifier }) => ({
        identifier,
        message: `The source has a changed history of ${identifier}, which was rejected. Its prices are not updated.`,
      }));
  },
});

const limitsHelp = 'The closing composition satisfies limits of concentration and of the number of constituents.';

/** Maximum excess over a limit that counts as a rounding error. */
const ROUNDING_ERROR = 1e-9;

const limitsCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('limits'),
    severity: defineSeverity('warn'),
    rule: z.enum(LIMIT_RULE_NAMES).nullable().default(null).meta({ description: 'Published rule of concentration.' }),
    maximum_weight: z
      .number()
      .gt(0)
      .max(1)
      .nullable()
      .default(null)
      .meta({ description: 'Largest weight of a security.' }),
    minimum: z.int().min(0).nullable().default(null).meta({ description: 'Minimum number of constituents.' }),
    maximum: z.int().min(1).nullable().default(null).meta({ description: 'Maximum number of constituents.' }),
  })).meta({ id: 'LimitsCheck', description: limitsHelp }),
  help: limitsHelp,
  needsRun: true,
  reads: ['closing'],
  judge(input, { rule, maximum_weight: most, minimum, maximum }) {
    const { closing } = input;
    if (closing === null) return [];
    const { holdings } = closing;
    const count = holdings.length;
    const createCountFinding = (limit: number, word: string): CheckFinding => ({
      identifier: null,
      message: `The index has ${formatCount(count, 'constituent')}; ${limit} ${limit === 1 ? 'is' : 'are'} the ${word}.`,
      measure: { value: count, limit, unit: 'constituents' },
    });
    const securityFindings = holdings
      .filter(({ weight }) => most !== null && weight > most + ROUNDING_ERROR)
      .map(({ identifier, weight }) => ({
        identifier,
        message: `${identifier} has the weight ${formatPercentText(weight)}; the limit is ${formatPercentText(most!)}.`,
        measure: { value: weight, limit: most!, unit: 'fraction' } as const,
      }));
    return [
      ...securityFindings,
      ...(minimum !== null && count < minimum ? [createCountFinding(minimum, 'least')] : []),
      ...(maximum !== null && count > maximum ? [createCountFinding(maximum, 'most')] : []),
      ...(rule === null ? [] : listBreaches(rule, input)),
    ];
  },
});

function listBreaches(name: (typeof LIMIT_RULE_NAMES)[number], { closing, issuerOf }: CheckInput): CheckFinding[] {
  const { holdings } = closing!; // `judge` is called only with a closing composition
  const names = [...new Set(holdings.map(({ identifier }) => issuerOf(identifier)))];
  const issuers = Int32Array.from(holdings, ({ identifier }) => names.indexOf(issuerOf(identifier)));
  const nets = new Float64Array(names.length);
  for (const [k, { weight }] of holdings.entries()) nets[issuers[k]!]! += weight;
  const heldSecurities = {
    weights: Float64Array.from(holdings, ({ weight }) => weight),
    issuerOf: issuers,
    nets,
    issuers: nets.map(Math.abs),
  };
  return LIMIT_RULES[name].rows.flatMap((row) => {
    const value = row.measure.valueOf(heldSecurities);
    if (computeHeadroom(row, value) >= -ROUNDING_ERROR) return [];
    const message = `${LIMIT_RULES[name].label}: ${row.row} is ${formatPercentText(value)}; the limit is ${formatPercentText(row.limit)}.`;
    return [{ identifier: null, message, measure: { value, limit: row.limit, unit: 'fraction' } as const }];
  });
}

const movesHelp = 'Large price moves of constituents have a corporate action.';

const movesCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('moves'),
    severity: defineSeverity('block'),
    limit: z
      .number()
      .gt(0)
      .max(100)
      .default(0.25)
      .meta({ description: 'Largest price move without a corporate action, a fraction.' }),
  })).meta({ id: 'MovesCheck', description: movesHelp }),
  help: movesHelp,
  needsRun: false,
  reads: ['closing'],
  judge({ closing, date, closeOn, lastDays, actionsOf }, { limit }) {
    const [before, last] = lastDays(2);
    if (before === undefined || last !== date) return [];
    return (closing?.holdings ?? []).flatMap(({ identifier, weight }) => {
      const [previousClose, close] = [closeOn(identifier, before), closeOn(identifier, date)];
      const move = close / previousClose - 1;
      if (!(Math.abs(move) > limit)) return [];
      const isExplained = actionsOf(identifier).some(
        ({ exDay, status }) => exDay > before && exDay <= date && status !== 'cancelled',
      );
      if (isExplained) return [];
      return [
        {
          identifier,
          message: `${identifier} moved by ${formatPercentText(move)} without a corporate action; the limit is ${formatPercentText(limit)}.`,
          measure: { value: move, limit, unit: 'fraction' },
          evidence: { previous_date: formatDay(before), previous_close: previousClose, close, weight },
        },
      ];
    });
  },
});

const publishedHelp = 'The levels of the run equal the published levels.';

const publishedCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('published'),
    severity: defineSeverity('block'),
    tolerance_bps: z
      .number()
      .min(0)
      .max(10_000)
      .default(0)
      .meta({ description: 'Largest difference, in basis points of the level.' }),
  })).meta({ id: 'PublishedCheck', description: publishedHelp }),
  help: publishedHelp,
  needsRun: true,
  reads: ['levels', 'published'],
  judge({ levels, published: publishedLevels }, { tolerance_bps: tolerance }) {
    let largest = { bps: 0, day: Number.NaN };
    let count = 0;
    for (const [day, entry] of publishedLevels) {
      const level = levels.get(day);
      if (level === undefined) continue;
      const bps = Math.max(
        ...LEVEL_VARIANTS.map((variant) => {
          const [now, then] = [level[variant], entry[variant]];
          return now === null || then === null ? 0 : Math.abs(1e4 * (now / then - 1));
        }),
      );
      if (bps <= tolerance) continue;
      count++;
      if (bps > largest.bps) largest = { bps, day };
    }
    if (count === 0) return [];
    const closesText = `${count} published ${count === 1 ? 'close' : 'closes'}`;
    const message = `The run differs from ${closesText}. The largest difference is ${Number(largest.bps.toPrecision(4))} bp, on ${formatDay(largest.day)}.`;
    return [{ identifier: null, message, measure: { value: largest.bps, limit: tolerance, unit: 'bp' } }];
  },
});

const secondSourceHelp = 'The level equals the level of a second source, a series of the store.';

export const secondSourceFields = {
  series: z.record(Id, z.string().min(1).max(64)).meta({
    description: 'Series by index. Indices that are not listed have no second source.',
    example: { 'LARGE-100': 'LARGE_100_CALC' },
  }),
  tolerance_bps: z
    .number()
    .min(0)
    .max(10_000)
    .default(1)
    .meta({ description: 'Largest difference, in basis points of the level.' }),
  variant: z.enum(LEVEL_VARIANTS).default('price').meta({ description: 'Return variant of the series.' }),
};

const secondSourceCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('second_source'),
    severity: defineSeverity('block'),
    ...secondSourceFields,
  })).meta({ id: 'SecondSourceCheck', description: secondSourceHelp }),
  help: secondSourceHelp,
  needsRun: true,
  reads: ['levels'],
  judge({ indexId, date, levels, seriesOn }, { series, tolerance_bps: tolerance, variant }) {
    const name = series[indexId];
    if (name === undefined) return [];
    const level = levels.get(date)?.[variant];
    if (level == null) return [{ identifier: name, message: `The run has no ${variant} level on ${formatDay(date)}.` }];
    const otherValue = seriesOn(name, date);
    if (Number.isNaN(otherValue)) return [{ identifier: name, message: `${name} has no value on ${formatDay(date)}.` }];
    const bps = 1e4 * (level / otherValue - 1);
    if (Math.abs(bps) <= tolerance) return [];
    const message = `The level is ${level}, and the level of ${name} is ${otherValue}. The difference is ${Number(bps.toPrecision(4))} bp; the tolerance is ${tolerance} bp.`;
    return [{ identifier: name, message, measure: { value: bps, limit: tolerance, unit: 'bp' } }];
  },
});

const stalenessHelp = 'Prices of constituents change. A price that is equal on many sessions is suspect.';

const stalenessCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('staleness'),
    severity: defineSeverity('warn'),
    sessions: z
      .int()
      .min(2)
      .max(250)
      .default(5)
      .meta({ description: 'Number of sessions with the same price that is reported.' }),
  })).meta({ id: 'StalenessCheck', description: stalenessHelp }),
  help: stalenessHelp,
  needsRun: false,
  reads: ['closing'],
  judge({ closing, closeOn, lastDays }, { sessions }) {
    const days = lastDays(sessions);
    if (days.length < sessions) return [];
    return (closing?.holdings ?? []).flatMap(({ identifier }) => {
      const first = closeOn(identifier, days[0]!);
      const isStale = days.every((day) => closeOn(identifier, day) === first);
      const message = `${identifier} has the price ${first} on ${sessions} sessions.`;
      const measure = { value: sessions, limit: sessions, unit: 'sessions' } as const;
      return isStale ? [{ identifier, message, measure }] : [];
    });
  },
});

const weightsHelp = 'Weights, including cash, add up to 1, and are not negative in an index without short positions.';

const weightsCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('weights'),
    severity: defineSeverity('block'),
    tolerance: z.number().min(0).max(0.1).default(1e-9).meta({ description: 'Largest difference of the sum from 1.' }),
  })).meta({ id: 'WeightsCheck', description: weightsHelp }),
  help: weightsHelp,
  needsRun: true,
  reads: ['closing'],
  judge({ closing, decimals, maySellShort }, { tolerance }) {
    if (closing === null) return [];
    const { holdings, cash } = closing;
    if (holdings.length === 0 && cash.weight === 0)
      return [{ identifier: null, message: 'The index has no constituents.' }];
    const sum = holdings.reduce((total, { weight }) => total + weight, cash.weight);
    const negativeHoldings = holdings
      .filter(({ weight }) => (maySellShort ? Number.isNaN(weight) : !(weight >= 0)))
      .map(({ identifier, weight }) => ({
        identifier,
        message: `${identifier} has the weight ${formatPercentText(weight)}.`,
        measure: { value: weight, limit: 0, unit: 'fraction' } as const,
      }));
    // Each rounded weight contributes its rounding error.
    const rounding = decimals.weights === null ? 0 : (holdings.length + 1) * Number(`0.5e-${decimals.weights}`);
    if (Math.abs(sum - 1) <= tolerance + rounding) return negativeHoldings;
    return [
      ...negativeHoldings,
      {
        identifier: null,
        message: `Weights add up to ${Number(sum.toPrecision(12))}.`,
        measure: { value: Math.abs(sum - 1), limit: tolerance + rounding, unit: 'fraction' },
      },
    ];
  },
});

/** All kinds of check, in the order in which they are performed. */
export const CHECK_CATALOGUE = {
  coverage: coverageCheck,
  staleness: stalenessCheck,
  moves: movesCheck,
  history: historyCheck,
  actions: actionsCheck,
  confirmed_actions: confirmedActionsCheck,
  weights: weightsCheck,
  divisor: divisorCheck,
  limits: limitsCheck,
  second_source: secondSourceCheck,
  published: publishedCheck,
} as const;

export type CheckName = keyof typeof CHECK_CATALOGUE;
export const CHECK_NAMES = Object.keys(CHECK_CATALOGUE) as [CheckName, ...CheckName[]]; // Object.keys returns plain strings.

export const PlanCheck = z.discriminatedUnion('check', [
  coverageCheck.schema,
  stalenessCheck.schema,
  movesCheck.schema,
  historyCheck.schema,
  actionsCheck.schema,
  confirmedActionsCheck.schema,
  weightsCheck.schema,
  divisorCheck.schema,
  limitsCheck.schema,
  secondSourceCheck.schema,
  publishedCheck.schema,
]);
export type PlanCheck = z.infer<typeof PlanCheck>;

export const findCheckKind = (name: CheckName): CheckKind<PlanCheck> =>
  CHECK_CATALOGUE[name] as unknown as CheckKind<PlanCheck>;

/** Checks that a plan must list explicitly: they require a parameter, or a desk that confirms actions. */
const EXPLICIT_CHECKS: ReadonlySet<CheckName> = new Set(['second_source', 'confirmed_actions']);

/**
 * Returns the checks of a step that lists none. These are all checks except those that a plan must list explicitly.
 * Checks that need a run are included only if there is one.
 * @param hasPolicy true if an error policy decides about differences in published closes; the check then only warns
 */
export const listStandardChecks = (hasRun: boolean, hasPolicy = false): readonly PlanCheck[] =>
  CHECK_NAMES.filter((name) => !EXPLICIT_CHECKS.has(name) && (hasRun || !findCheckKind(name).needsRun)).map((check) => {
    const severity = hasPolicy && check === 'published' ? { severity: 'warn' } : {};
    return findCheckKind(check).schema.parse({ check, ...severity }) as PlanCheck;
  });

/** Decisions of people about a day. Each decision is kept permanently, with its reason. */
export const JUDGEMENT_ACTIONS = ['run', 'backfill', 'skip', 'waive'] as const;

export const AcceptedFinding = defineObject(() => ({
  index_id: z.string(),
  identifier: z.string().nullable().meta({ description: 'Security or series; null for the whole index.' }),
  message: z.string().meta({ description: 'Description of the finding in a sentence.' }),
  measure: CheckMeasure.nullable().meta({ description: 'Value and limit; null for a finding without a value.' }),
})).meta({ id: 'AcceptedFinding' });
export type AcceptedFinding = z.infer<typeof AcceptedFinding>;

/** Decision of a person about a schedule. */
export const Judgement = defineObject(() => ({
  seq: z.int().min(1).meta({ description: 'Number, from 1 without gaps, counted by schedule.' }),
  at: z.string().meta({ description: 'Time of the decision, ISO-8601 UTC with offset.' }),
  author: z.string().meta({ description: 'Name of the key; `local` without authentication.' }),
  key_id: z.string().nullable().meta({ description: 'Id of the key; null without authentication.' }),
  action: z.enum(JUDGEMENT_ACTIONS).meta({ description: 'Decision.' }),
  schedule_id: z.string(),
  date: z.string().meta({ description: 'Session of the decision; for a backfill, the first session.' }),
  last_date: z.string().nullable().default(null).meta({
    description: 'Last session of a backfill; null for other decisions and for backfills of earlier versions.',
  }),
  sessions: z
    .int()
    .min(1)
    .nullable()
    .default(null)
    .meta({ description: 'Number of sessions of the decision; null for decisions of earlier versions.' }),
  indices: z.array(z.string()).default([]).meta({
    description: 'Indices of the decision, in the order of the schedule; empty for decisions of earlier versions.',
  }),
  index_id: z.string().nullable().default(null).meta({ description: 'Index of a waiver; null for every index.' }),
  check: z.string().nullable().default(null).meta({ description: 'Check that was waived; null for other decisions.' }),
  identifier: z
    .string()
    .nullable()
    .default(null)
    .meta({ description: 'Security of a waiver; null for every finding of the check.' }),
  findings: z.array(AcceptedFinding).default([]).meta({ description: 'Findings that a waiver accepted; at most 200.' }),
  approval_id: z
    .int()
    .nullable()
    .default(null)
    .meta({ description: 'Approval of the decision; null if it needed none.' }),
  approved_by: z.array(z.string()).default([]).meta({ description: 'Names of the people who approved the decision.' }),
  reason: z.string().nullable().meta({ description: 'Why.' }),
})).meta({ id: 'Judgement', description: 'Decision of a person about a day of a schedule.' });
export type Judgement = z.infer<typeof Judgement>;
