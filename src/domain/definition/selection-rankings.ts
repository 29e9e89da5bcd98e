import { z } from 'zod';
import type { FindingCode } from '../base/findings.js';
import { formatShare } from '../base/numbers.js';
import { defineObject } from '../base/schema.js';
import { type FieldUse, useCategory, useNumber } from '../datapoints/expression-tree.js';
import { createLatestRequest } from '../datapoints/fields.js';
import { computeZScores, createPositions } from '../datapoints/statistics.js';
import * as parameters from './rule-parameters.js';
import {
  type ChosenMembers,
  defineSelectionClass,
  describeMissingPolicy,
  keepBest,
  keepRanked,
  nameUsedField,
  type RankThreshold,
  type SelectionScope,
  readGroups,
  readValues,
  roundDownTolerantly,
  roundUpTolerantly,
} from './selection.js';

const rank = z.int().min(1).max(100_000).nullable().default(null);

export const bufferedTopN = defineSelectionClass({
  type: 'BufferedTopN',
  label: 'Best by a field, with a buffer',
  help: 'Keeps the `count` best securities. Constituents stay while their rank is within a buffer, which reduces turnover.',
  params: defineObject(() => ({
    field: parameters.defaultToField('MARKET_CAP'),
    count: parameters.count,
    enter_rank: rank.meta({
      label: 'Enter rank',
      help: 'Securities ranked at or above this rank always enter. Default: 80% of count, rounded down.',
      unit: 'rank',
    }),
    exit_rank: rank.meta({
      label: 'Exit rank',
      help: 'Constituents ranked at or above this rank stay. Default: 120% of count, rounded up.',
      unit: 'rank',
    }),
    ascending: parameters.ascending,
    group_by: parameters.groupBy,
    missing: parameters.missing,
  })).superRefine((params, context) => {
    const { count, enter_rank, exit_rank } = params;
    if (enter_rank !== null && enter_rank > count) {
      context.addIssue({
        code: 'custom',
        path: ['enter_rank'],
        input: enter_rank,
        params: { finding: 'OUT_OF_RANGE' },
        message: `must be at most the count of ${count}`,
      });
    }
    if (exit_rank !== null && exit_rank < count) {
      context.addIssue({
        code: 'custom',
        path: ['exit_rank'],
        input: exit_rank,
        params: { finding: 'OUT_OF_RANGE' },
        message: `must be at least the count of ${count}`,
      });
    }
  }),
  example: {
    id: 'size',
    type: 'BufferedTopN',
    params: { field: 'FREE_FLOAT_MARKET_CAP', count: 100, enter_rank: 90, exit_rank: 110 },
  },
  behaviour({ field, count, enter_rank, exit_rank, ascending, group_by, missing }) {
    const value = useNumber(field, 'field');
    const group = group_by === null ? null : useCategory(group_by, 'group_by');
    const enter = enter_rank ?? Math.max(1, roundDownTolerantly(0.8 * count));
    const exit = exit_rank ?? roundUpTolerantly(1.2 * count);
    return {
      reads: [value, ...(group === null ? [] : [group])],
      ranks: true,
      remembers: true,
      sentence:
        `Keep ${count} securities by ${ascending ? 'smallest' : 'largest'} ${nameUsedField(value)}${group_by === null ? '' : ` in each ${group_by}`}: those ranked ${enter} or better enter, constituents ranked ${exit} or better stay, ` +
        `and the best others fill up; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select(scope) {
        const { columns, incumbents } = scope;
        return keepRanked(scope, {
          values: readValues(scope, value),
          groups: readGroups(scope, group),
          ascending,
          missing,
          what: nameUsedField(value),
          choose: (order) =>
            incumbents === null
              ? keepBest(order, count)
              : selectBuffered(order, {
                  count,
                  enter,
                  exit,
                  isConstituent: (name) => incumbents[columns[name]!] === 1,
                }),
        });
      },
    };
  },
});

interface BufferTerms {
  readonly count: number;
  readonly enter: number;
  readonly exit: number;
  /** Returns true if the security at a position in the columns of the scope is a constituent. */
  isConstituent(position: number): boolean;
}

/**
 * Selects securities up to the entry rank. While the count is not reached, adds constituents up to the exit rank, then
 * the best other securities.
 */
function selectBuffered(order: Int32Array, { count, enter, exit, isConstituent }: BufferTerms): ChosenMembers {
  const isKept = new Uint8Array(order.length).fill(1, 0, enter);
  let size = Math.min(enter, order.length);
  let lastStayRank = size;
  for (let i = enter; i < Math.min(exit, order.length) && size < count; i++) {
    if (!isConstituent(order[i]!)) continue;
    isKept[i] = 1;
    size++;
    lastStayRank = i + 1;
  }
  const isFull = size >= count;
  let rankWithoutBuffer = Math.min(enter, order.length);
  for (let i = enter; i < order.length && size < count; i++) {
    if (isKept[i] === 1) continue;
    isKept[i] = 1;
    size++;
    rankWithoutBuffer = i + 1;
  }
  const enterThreshold: RankThreshold = { type: 'enter_rank', rank: enter };
  const exitThreshold: RankThreshold = { type: 'exit_rank', rank: exit };
  const fillThreshold: RankThreshold =
    rankWithoutBuffer > enter ? { type: 'fill_up', rank: rankWithoutBuffer } : enterThreshold;
  return {
    kept: order.filter((_, i) => isKept[i] === 1),
    alone: rankWithoutBuffer,
    faced({ position, rank }) {
      const isAhead = rank > 0 && rank <= enter;
      if (!isConstituent(position)) return [isAhead ? enterThreshold : fillThreshold];
      return isFull && !isAhead ? [exitThreshold, { type: 'places', rank: lastStayRank }] : [exitThreshold];
    },
  };
}

const Term = defineObject(() => ({
  field: parameters.field,
  weight: z.number().gt(0).max(1e6).default(1).meta({ description: 'Weight of the term in the average.' }),
  direction: z.enum(['high', 'low']).default('high').meta({ description: 'End of the datapoint that is better.' }),
  winsorise: z.number().gt(0).max(100).default(3).meta({ description: 'Limit on the absolute z-score.' }),
})).meta({ id: 'ScoreTerm' });

export const compositeScore = defineSelectionClass({
  type: 'CompositeScore',
  label: 'Composite score',
  help: 'Scores securities by a weighted average of winsorised z-scores. It keeps the best scores, the scores above a minimum, or both.',
  params: defineObject(() => ({
    terms: z.array(Term).min(1).max(32).meta({ label: 'Terms', help: 'Datapoints of the score.', ref: 'ScoreTerm' }),
    count: parameters.count
      .nullable()
      .default(null)
      .meta({ label: 'Count', help: 'Number of best scores that are kept. Default: no limit.', unit: 'securities' }),
    minimum: parameters.defineBound('Minimum', 'Minimum score; null: no minimum.', 'z units'),
    missing: parameters.missing,
  })).refine(({ count, minimum }) => count !== null || minimum !== null, {
    path: ['count'],
    params: { finding: 'MISSING_PARAMETER' },
    error: 'or minimum is required',
  }),
  example: {
    id: 'quality-value',
    type: 'CompositeScore',
    params: {
      terms: [
        { field: 'DIVIDEND_YIELD', weight: 1, direction: 'high' },
        { field: 'VOLATILITY', weight: 0.5, direction: 'low' },
      ],
      count: 50,
    },
  },
  behaviour({ terms, count, minimum, missing }) {
    const uses = terms.map(({ field }, i) => useNumber(field, `terms[${i}].field`));
    const termPhrases = terms
      .map(
        ({ weight, direction, winsorise }, i) =>
          `${direction} ${nameUsedField(uses[i]!)} (weight ${weight}, winsorised at ${winsorise})`,
      )
      .join(', ');
    const limitsText = [
      ...(count === null ? [] : [`the ${count} best`]),
      ...(minimum === null ? [] : [`those scoring at least ${minimum}`]),
    ].join(' among ');
    return {
      reads: uses,
      remembers: false,
      sentence: `Score securities by the weighted average z-score of ${termPhrases} and keep ${limitsText}; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select(scope) {
        const scores = new Float64Array(scope.columns.length);
        const total = terms.reduce((sum, { weight }) => sum + weight, 0);
        terms.forEach(({ weight, direction, winsorise }, k) => {
          const z = computeZScores(readValues(scope, uses[k]!));
          const sign = direction === 'high' ? 1 : -1;
          for (let i = 0; i < scores.length; i++)
            scores[i]! += (weight / total) * sign * Math.min(winsorise, Math.max(-winsorise, z[i]!));
        });
        return keepRanked(scope, {
          values: scores,
          groups: new Map([['', createPositions(scores)]]),
          ascending: false,
          missing,
          what: 'score',
          choose: (order) => createBestScores(order, { scores, count, minimum }),
        });
      },
    };
  },
});

/**
 * Selects the best scores. Their number is limited, and they must reach a minimum. Securities without a score come
 * last.
 */
function createBestScores(
  order: Int32Array,
  {
    scores,
    count,
    minimum,
  }: { readonly scores: Float64Array; readonly count: number | null; readonly minimum: number | null },
): ChosenMembers {
  const isScored = (position: number): boolean => !Number.isNaN(scores[position]!);
  const eligiblePositions = order.filter(
    (position) => !isScored(position) || minimum === null || scores[position]! >= minimum,
  );
  const scoredCount = eligiblePositions.filter(isScored).length;
  const countThresholds: RankThreshold[] = count === null ? [] : [{ type: 'count', rank: count }];
  const least: RankThreshold[] = minimum === null ? [] : [{ type: 'minimum', rank: scoredCount, bound: minimum }];
  // The threshold that fewer securities satisfy comes first.
  const scoredThresholds =
    count !== null && count <= scoredCount ? [...countThresholds, ...least] : [...least, ...countThresholds];
  // Securities without a score rank after those below the minimum. They do not count towards the number.
  const belowCount = order.length - eligiblePositions.length;
  const unscoredThresholds: RankThreshold[] = [
    { type: 'count', rank: belowCount + (count ?? eligiblePositions.length) },
  ];
  return {
    kept: eligiblePositions.slice(0, count ?? eligiblePositions.length),
    faced: ({ position, rank }) => (rank === 0 || isScored(position) ? scoredThresholds : unscoredThresholds),
  };
}

/** Tolerance of the cumulative share. A share that is reached up to rounding counts as reached. */
const SHARE_TOLERANCE = 1e-12;

const CROSSINGS = ['include', 'exclude', 'nearest'] as const;
type Crossing = (typeof CROSSINGS)[number];

const CROSSING_PHRASES: Readonly<Record<Crossing, string>> = {
  include: 'including the crossing security',
  exclude: 'without the crossing security',
  nearest: 'including the crossing security if the coverage is then at least as close to the target',
};

const share = z.number().min(0).max(1).nullable().default(null);

export const cumulativeCoverage = defineSelectionClass({
  type: 'CumulativeCoverage',
  label: 'Cumulative coverage',
  help: 'Keeps the best securities until they cover a fraction of the total. Constituents stay within a buffer or a band.',
  params: defineObject(() => ({
    field: parameters
      .defaultToField('FREE_FLOAT_MARKET_CAP')
      .meta({ label: 'Coverage field', help: 'Datapoint whose total is covered.' }),
    coverage: z.number().gt(0).max(1).meta({
      label: 'Coverage',
      help: 'Fraction of the total that is covered.',
      unit: 'fraction',
    }),
    buffer: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .meta({ label: 'Buffer', help: 'Constituents stay up to the coverage plus this value.', unit: 'fraction' }),
    group_by: parameters.groupBy,
    rank_field: parameters.field.nullable().default(null).meta({
      label: 'Rank field',
      help: 'Datapoint of the ranking. Default: the coverage field.',
    }),
    ascending: parameters.ascending,
    lower: share.meta({
      label: 'Lower band',
      help: 'Securities outside the index enter up to this coverage, before constituents are considered.',
      unit: 'fraction',
    }),
    upper: share.meta({
      label: 'Upper band',
      help: 'Constituents stay up to this coverage. The best other securities then fill up to the coverage.',
      unit: 'fraction',
    }),
    crossing: z.enum(CROSSINGS).default('include').meta({
      label: 'Crossing security',
      help: 'The security that crosses a coverage is kept (include), is not kept, so that the coverage is at most the target (exclude), or is kept if the coverage is then at least as close to the target (nearest). It also applies to the buffer and the bands.',
    }),
    over: z.enum(['selection', 'universe']).default('selection').meta({
      label: 'Total of',
      help: 'The total is that of the securities that earlier rules kept (selection), or that of the whole universe before them (universe), in each group if there are groups.',
    }),
    missing: parameters.missing,
  })).superRefine((params, context) => {
    for (const { name, code, message } of listBandProblems(params))
      context.addIssue({ code: 'custom', path: [name], input: params[name], params: { finding: code }, message });
  }),
  example: { id: 'standard', type: 'CumulativeCoverage', params: { coverage: 0.85, buffer: 0.05 } },
  behaviour({ field, coverage, buffer, group_by, rank_field, ascending, lower, upper, crossing, over, missing }) {
    const size = useNumber(field, 'field');
    const rank = rank_field === null ? size : useNumber(rank_field, 'rank_field');
    const group = group_by === null ? null : useCategory(group_by, 'group_by');
    const limits = { coverage, buffer, bands: lower === null || upper === null ? null : { lower, upper } };
    return {
      reads: [size, ...(rank === size ? [] : [rank]), ...(group === null ? [] : [group])],
      ranks: true,
      remembers: buffer > 0 || limits.bands !== null,
      sentence:
        `From the ${ascending ? 'smallest' : 'largest'} ${nameUsedField(rank)} ${ascending ? 'up' : 'down'}, keep securities until they cover ${formatShare(coverage)} of the total${over === 'universe' ? ' of the universe' : ''}${rank === size ? '' : ` of ${nameUsedField(size)}`}${group_by === null ? '' : ` in each ${group_by}`}, ${CROSSING_PHRASES[crossing]}; ` +
        `${describeStay(limits)}; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select(scope) {
        const { columns, incumbents } = scope;
        const sizes = readValues(scope, size);
        const groups = readGroups(scope, group);
        const totals = over === 'universe' ? sumUniverseSizes(scope, { size, group, groups }) : null;
        return keepRanked(scope, {
          values: readValues(scope, rank),
          groups,
          ascending,
          missing,
          what:
            rank === size
              ? `cumulative ${nameUsedField(size)}`
              : `${nameUsedField(rank)} by cumulative ${nameUsedField(size)}`,
          choose(order) {
            const orderedSizes = Float64Array.from(order, (position) => toSize(sizes[position]!));
            const isConstituent = (position: number): boolean => incumbents?.[columns[position]!] === 1;
            const total =
              totals === null || order.length === 0
                ? orderedSizes.reduce((sum, size) => sum + size, 0)
                : totals[order[0]!]!;
            const isNew = incumbents === null;
            const coverageInput = {
              order,
              sizes: orderedSizes,
              total,
              crossing,
              isConstituent,
              hasConstituents: !isNew,
            };
            return limits.bands === null
              ? selectWithinBuffer(coverageInput, limits)
              : selectWithinBands(coverageInput, { ...limits.bands, coverage });
          },
        });
      },
    };
  },
});

const toSize = (value: number): number => Math.max(0, value || 0);

interface GroupedSizes {
  readonly size: FieldUse;
  readonly group: FieldUse | null;
  readonly groups: ReadonlyMap<string | null, Int32Array>;
}

function sumUniverseSizes(scope: SelectionScope, { size, group, groups }: GroupedSizes): Float64Array {
  const universe = { cross: scope.cross, columns: scope.cross.universe };
  const sizes = readValues(universe, size);
  const members = readGroups(universe, group);
  const totals = new Float64Array(scope.columns.length);
  for (const [name, positions] of groups) {
    const total = members.get(name)!.reduce((sum, position) => sum + toSize(sizes[position]!), 0);
    for (const position of positions) totals[position] = total;
  }
  return totals;
}

interface BandParams {
  readonly coverage: number;
  readonly buffer: number;
  readonly lower: number | null;
  readonly upper: number | null;
}

function listBandProblems({ coverage, buffer, lower, upper }: BandParams) {
  const problems: {
    readonly name: 'buffer' | 'lower' | 'upper';
    readonly code: FindingCode;
    readonly message: string;
  }[] = [];
  if (lower === null && upper !== null)
    problems.push({ name: 'lower', code: 'MISSING_PARAMETER', message: 'is needed together with upper' });
  if (upper === null && lower !== null)
    problems.push({ name: 'upper', code: 'MISSING_PARAMETER', message: 'is needed together with lower' });
  if (lower !== null && lower > coverage)
    problems.push({ name: 'lower', code: 'EMPTY_RANGE', message: `is above the coverage of ${coverage}` });
  if (upper !== null && upper < coverage)
    problems.push({ name: 'upper', code: 'EMPTY_RANGE', message: `is below the coverage of ${coverage}` });
  if (buffer > 0 && (lower !== null || upper !== null))
    problems.push({ name: 'buffer', code: 'OUT_OF_RANGE', message: 'must be 0 together with lower and upper' });
  return problems;
}

interface Limits {
  readonly coverage: number;
  readonly buffer: number;
  readonly bands: { readonly lower: number; readonly upper: number } | null;
}

const describeStay = ({ buffer, bands, coverage }: Limits): string =>
  bands === null
    ? `constituents stay up to ${formatShare(buffer)} more`
    : `first the best up to ${formatShare(bands.lower)} enter, then constituents up to ${formatShare(bands.upper)} stay, then the best others fill up to ${formatShare(coverage)}`;

interface CoverageInput {
  /** Positions, best first. */
  readonly order: Int32Array;
  /** Sizes in the order of `order`. */
  readonly sizes: Float64Array;
  /** Size that a coverage of 1 covers. */
  readonly total: number;
  readonly crossing: Crossing;
  readonly hasConstituents: boolean;
  isConstituent(position: number): boolean;
}

function selectWithinBuffer(
  input: CoverageInput,
  { coverage, buffer }: Pick<Limits, 'coverage' | 'buffer'>,
): ChosenMembers {
  const { order, hasConstituents, isConstituent } = input;
  const cutoff = countCovering(input, coverage);
  const stay = hasConstituents ? countCovering(input, Math.min(1, coverage + buffer)) : cutoff;
  return {
    kept: order.filter((position, i) => i < cutoff || (i < stay && isConstituent(position))),
    alone: cutoff,
    faced: ({ position }) => [
      buffer > 0 && isConstituent(position)
        ? { type: 'coverage_buffer', rank: stay }
        : { type: 'coverage', rank: cutoff },
    ],
  };
}

/**
 * Selects the best securities up to the lower band, and constituents up to the upper band. While the coverage is not
 * reached, adds the best other securities.
 */
function selectWithinBands(
  input: CoverageInput,
  { lower, upper, coverage }: { readonly lower: number; readonly upper: number; readonly coverage: number },
): ChosenMembers {
  const { order, sizes, total, crossing, isConstituent } = input;
  const [enter, stay] = [countCovering(input, lower), countCovering(input, upper)];
  const target = coverage * total;
  const isKept = new Uint8Array(order.length);
  let coveredSize = 0;
  for (let i = 0; i < stay; i++) {
    if (i >= enter && !isConstituent(order[i]!)) continue;
    isKept[i] = 1;
    coveredSize += sizes[i]!;
  }
  let filledCount = enter;
  for (let i = enter; i < order.length && !reaches(coveredSize, target); i++) {
    if (isKept[i] === 1) continue;
    if (!isAdded(crossing, { covered: coveredSize, size: sizes[i]!, target })) break;
    isKept[i] = 1;
    coveredSize += sizes[i]!;
    filledCount = i + 1;
  }
  const fillThreshold: RankThreshold =
    filledCount > enter ? { type: 'fill_up', rank: filledCount } : { type: 'coverage_lower', rank: enter };
  return {
    kept: order.filter((_, i) => isKept[i] === 1),
    alone: filledCount,
    faced: ({ position, rank }) => [
      isConstituent(position) && rank > filledCount ? { type: 'coverage_upper', rank: stay } : fillThreshold,
    ],
  };
}

/** Returns the number of leading securities that cover a share of the total. */
function countCovering({ sizes, total, crossing }: CoverageInput, part: number): number {
  if (!(total > 0 && part > 0)) return 0;
  const target = part * total;
  let covered = 0;
  for (let i = 0; i < sizes.length; i++) {
    if (!isAdded(crossing, { covered, size: sizes[i]!, target })) return i;
    covered += sizes[i]!;
    if (reaches(covered, target)) return i + 1;
  }
  return sizes.length;
}

const reaches = (covered: number, target: number): boolean => covered >= target * (1 - SHARE_TOLERANCE);

interface CoverageStep {
  /** Size that is covered, which is below the target; the next field is the size of the next security. */
  readonly covered: number;
  readonly size: number;
  readonly target: number;
}

/** Returns true if the next security is kept although it may cross the target. */
function isAdded(crossing: Crossing, { covered, size, target }: CoverageStep): boolean {
  const tolerance = target * SHARE_TOLERANCE;
  const excess = covered + size - target;
  if (crossing === 'include' || excess <= tolerance) return true;
  return crossing === 'nearest' && excess <= target - covered + tolerance;
}

export const groupLimit = defineSelectionClass({
  type: 'GroupLimit',
  label: 'Group limit',
  help: 'Keeps a maximum number of securities of each group, which are the best by a field.',
  params: defineObject(() => ({
    field: parameters.fieldName.meta({
      label: 'Field',
      help: 'Column whose values are the groups. Securities without a value form one group.',
    }),
    rank_field: parameters
      .defaultToField('MARKET_CAP')
      .meta({ label: 'Rank field', help: 'Datapoint of the ranking within a group.' }),
    maximum: z
      .int()
      .min(1)
      .max(20_000)
      .meta({ label: 'Maximum', help: 'Maximum number of securities of one group.', unit: 'securities' }),
    missing: parameters.missing,
  })),
  example: { id: 'sector-limit', type: 'GroupLimit', params: { field: 'SECTOR', maximum: 20 } },
  behaviour({ field, rank_field, maximum, missing }) {
    const group = useCategory(field, 'field');
    const value = useNumber(rank_field, 'rank_field');
    return {
      reads: [group, value],
      remembers: false,
      sentence: `Keep at most ${maximum} securities of each ${field}, those with the largest ${nameUsedField(value)}; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select: (scope) =>
        keepRanked(scope, {
          values: readValues(scope, value),
          groups: readGroups(scope, group),
          ascending: false,
          missing,
          what: `${nameUsedField(value)} in its ${field}`,
          choose: (order) => keepBest(order, maximum),
        }),
    };
  },
});

const NO_POSITIONS = new Int32Array(0);

export const onePerIssuer = defineSelectionClass({
  type: 'OnePerIssuer',
  label: 'One line per issuer',
  help: 'Keeps the best share line of each issuer. A security without an issuer is a separate issuer.',
  params: defineObject(() => ({
    issuer_field: parameters.fieldName
      .default('ISSUER')
      .meta({ label: 'Issuer field', help: 'Column that identifies the issuer.' }),
    field: parameters.fieldName.default('VALUE_TRADED'),
    window: parameters.defineWindow(60),
    missing: parameters.missing,
  })),
  example: {
    id: 'one-line',
    type: 'OnePerIssuer',
    params: { issuer_field: 'ISSUER', field: 'VALUE_TRADED', window: 60 },
  },
  behaviour({ issuer_field, field, window, missing }) {
    const issuer = useCategory(issuer_field, 'issuer_field');
    const value = useNumber(createLatestRequest(field, { aggregate: 'median', window }), 'field');
    return {
      reads: [issuer, value],
      remembers: false,
      sentence: `Of each ${issuer_field} keep the line with the largest ${nameUsedField(value)}; a security without an issuer is an issuer by itself; ${describeMissingPolicy(missing)}.`,
      select(scope) {
        const byIssuer = readGroups(scope, issuer);
        const securitiesWithoutIssuer = Array.from(byIssuer.get(null) ?? NO_POSITIONS).map(
          (position): [string | null, Int32Array] => [`\u0000${position}`, Int32Array.of(position)],
        );
        const groups = new Map([...[...byIssuer].filter(([name]) => name !== null), ...securitiesWithoutIssuer]);
        return keepRanked(scope, {
          values: readValues(scope, value),
          groups,
          ascending: false,
          missing,
          what: `${nameUsedField(value)} in its ${issuer_field}`,
          choose: (order) => keepBest(order, 1),
        });
      },
    };
  },
});

const GROUPS_MAX = 1000;

export const quota = defineSelectionClass({
  type: 'Quota',
  label: 'Quotas',
  help: 'Keeps a number of securities of each group, which are the best by a field. Groups without a quota are excluded.',
  params: defineObject(() => ({
    field: parameters.fieldName.meta({ label: 'Field', help: 'Column whose values are the groups.' }),
    quotas: z
      .record(z.string().min(1).max(200), z.int().min(0).max(20_000))
      .refine((quotas) => Object.keys(quotas).length > 0, {
        params: { finding: 'OUT_OF_RANGE' },
        error: 'has no group; at least 1 is required',
      })
      .refine((quotas) => Object.keys(quotas).length <= GROUPS_MAX, { error: `has more than ${GROUPS_MAX} groups` })
      .meta({ label: 'Quotas', help: 'Number of securities by group.', unit: 'securities' }),
    rank_field: parameters
      .defaultToField('MARKET_CAP')
      .meta({ label: 'Rank field', help: 'Datapoint of the ranking within a group.' }),
    ascending: parameters.ascending,
    missing: parameters.missing,
  })),
  example: {
    id: 'by-sector',
    type: 'Quota',
    params: { field: 'SECTOR', quotas: { Financials: 10, Technology: 15 }, rank_field: 'FREE_FLOAT_MARKET_CAP' },
  },
  behaviour({ field, quotas, rank_field, ascending, missing }) {
    const group = useCategory(field, 'field');
    const value = useNumber(rank_field, 'rank_field');
    const counts = new Map<string | null, number>(Object.entries(quotas));
    const list = Object.entries(quotas)
      .map(([name, count]) => `${count} of ${name}`)
      .join(', ');
    return {
      reads: [group, value],
      ranks: true,
      remembers: false,
      sentence: `Of each ${field} keep the securities with the ${ascending ? 'smallest' : 'largest'} ${nameUsedField(value)}: ${list}; other groups are excluded; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select(scope) {
        const groups = readGroups(scope, group);
        const values = readValues(scope, value);
        const countByPosition = new Int32Array(values.length);
        for (const [name, members] of groups)
          for (const position of members) countByPosition[position] = counts.get(name) ?? 0;
        return keepRanked(scope, {
          values,
          groups,
          ascending,
          missing,
          what: `${nameUsedField(value)} in its ${field}`,
          choose: (order) => keepBest(order, order.length === 0 ? 0 : countByPosition[order[0]!]!),
        });
      },
    };
  },
});

export const topFraction = defineSelectionClass({
  type: 'TopFraction',
  label: 'Best fraction by a field',
  help: 'Keeps the best fraction of the securities by a field, rounded up, overall or in each group.',
  params: defineObject(() => ({
    field: parameters.field,
    fraction: z
      .number()
      .gt(0)
      .max(1)
      .meta({ label: 'Fraction', help: 'Fraction of the ranked securities that is kept.', unit: 'fraction' }),
    ascending: parameters.ascending,
    group_by: parameters.groupBy,
    missing: parameters.missing,
  })),
  example: { id: 'value', type: 'TopFraction', params: { field: 'DIVIDEND_YIELD', fraction: 0.3, group_by: 'SECTOR' } },
  behaviour({ field, fraction, ascending, group_by, missing }) {
    const value = useNumber(field, 'field');
    const group = group_by === null ? null : useCategory(group_by, 'group_by');
    return {
      reads: [value, ...(group === null ? [] : [group])],
      ranks: true,
      remembers: false,
      sentence: `Keep ${formatShare(fraction)} of the securities with the ${ascending ? 'smallest' : 'largest'} ${nameUsedField(value)}${group_by === null ? '' : ` in each ${group_by}`}, rounded up; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select: (scope) =>
        keepRanked(scope, {
          values: readValues(scope, value),
          groups: readGroups(scope, group),
          ascending,
          missing,
          what: nameUsedField(value),
          choose: (order) => keepBest(order, roundUpTolerantly(fraction * order.length), 'fraction'),
        }),
    };
  },
});

export const topN = defineSelectionClass({
  type: 'TopN',
  label: 'Best by a field',
  help: 'Keeps the securities with the best values of a field, overall or in each group.',
  params: defineObject(() => ({
    field: parameters.defaultToField('MARKET_CAP'),
    count: parameters.count,
    ascending: parameters.ascending,
    group_by: parameters.groupBy,
    missing: parameters.missing,
  })),
  example: { id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 100 } },
  behaviour({ field, count, ascending, group_by, missing }) {
    const value = useNumber(field, 'field');
    const group = group_by === null ? null : useCategory(group_by, 'group_by');
    return {
      reads: [value, ...(group === null ? [] : [group])],
      ranks: true,
      remembers: false,
      sentence: `Keep the ${count} securities with the ${ascending ? 'smallest' : 'largest'} ${nameUsedField(value)}${group_by === null ? '' : ` in each ${group_by}`}; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select: (scope) =>
        keepRanked(scope, {
          values: readValues(scope, value),
          groups: readGroups(scope, group),
          ascending,
          missing,
          what: nameUsedField(value),
          choose: (order) => keepBest(order, count),
        }),
    };
  },
});
