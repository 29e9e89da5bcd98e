import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useCategory, useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import type { FindingCode } from '../../refusals/findings.js';
import type { RankThreshold } from '../thresholds.js';
import {
  readGroups,
  keepRanked,
  describeMissingPolicy,
  nameUsedField,
  readValues,
  type ChosenMembers,
} from '../verdicts.js';
import { formatShare } from '../../catalogue/sentence-numbers.js';

/** Tolerance of the cumulative share. A share that is reached up to rounding counts as reached. */
const SHARE_TOLERANCE = 1e-12;

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
      help: 'Fraction of the total that is covered. The security that crosses it is kept.',
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
    missing: parameters.missing,
  })).superRefine((params, context) => {
    for (const { name, code, message } of listBandProblems(params))
      context.addIssue({ code: 'custom', path: [name], input: params[name], params: { finding: code }, message });
  }),
  example: { id: 'standard', type: 'CumulativeCoverage', params: { coverage: 0.85, buffer: 0.05 } },
  behaviour({ field, coverage, buffer, group_by, rank_field, ascending, lower, upper, missing }) {
    const size = useNumber(field, 'field');
    const rank = rank_field === null ? size : useNumber(rank_field, 'rank_field');
    const group = group_by === null ? null : useCategory(group_by, 'group_by');
    const limits = { coverage, buffer, bands: lower === null || upper === null ? null : { lower, upper } };
    return {
      reads: [size, ...(rank === size ? [] : [rank]), ...(group === null ? [] : [group])],
      ranks: true,
      remembers: buffer > 0 || limits.bands !== null,
      sentence:
        `From the ${ascending ? 'smallest' : 'largest'} ${nameUsedField(rank)} ${ascending ? 'up' : 'down'}, keep securities until they cover ${formatShare(coverage)} of the total${rank === size ? '' : ` of ${nameUsedField(size)}`}${group_by === null ? '' : ` in each ${group_by}`}, including the crossing security; ` +
        `${describeStay(limits)}; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select(scope) {
        const { columns, incumbents } = scope;
        const sizes = readValues(scope, size);
        return keepRanked(scope, {
          values: readValues(scope, rank),
          groups: readGroups(scope, group),
          ascending,
          missing,
          what:
            rank === size
              ? `cumulative ${nameUsedField(size)}`
              : `${nameUsedField(rank)} by cumulative ${nameUsedField(size)}`,
          choose(order) {
            const orderedSizes = Float64Array.from(order, (position) => Math.max(0, sizes[position]! || 0));
            const isConstituent = (position: number): boolean => incumbents?.[columns[position]!] === 1;
            const coverageInput = { order, sizes: orderedSizes, isConstituent, hasConstituents: incumbents !== null };
            return limits.bands === null
              ? selectWithinBuffer(coverageInput, limits)
              : selectWithinBands(coverageInput, { ...limits.bands, coverage });
          },
        });
      },
    };
  },
});

interface BandParams {
  readonly coverage: number;
  readonly buffer: number;
  readonly lower: number | null;
  readonly upper: number | null;
}

/** Returns problems of the bands in combination with other parameters. */
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
  readonly hasConstituents: boolean;
  isConstituent(position: number): boolean;
}

function selectWithinBuffer(
  { order, sizes, hasConstituents, isConstituent }: CoverageInput,
  { coverage, buffer }: Pick<Limits, 'coverage' | 'buffer'>,
): ChosenMembers {
  const cutoff = countReaching(sizes, coverage);
  const stay = hasConstituents ? countReaching(sizes, Math.min(1, coverage + buffer)) : cutoff;
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
  { order, sizes, isConstituent }: CoverageInput,
  { lower, upper, coverage }: { readonly lower: number; readonly upper: number; readonly coverage: number },
): ChosenMembers {
  const [enter, stay] = [countReaching(sizes, lower), countReaching(sizes, upper)];
  const requiredSize = coverage * sizes.reduce((sum, size) => sum + size, 0) * (1 - SHARE_TOLERANCE);
  const isKept = new Uint8Array(order.length);
  let coveredSize = 0;
  for (let i = 0; i < stay; i++) {
    if (i >= enter && !isConstituent(order[i]!)) continue;
    isKept[i] = 1;
    coveredSize += sizes[i]!;
  }
  let filledCount = enter;
  for (let i = enter; i < order.length; i++) {
    if (coveredSize >= requiredSize) break;
    if (isKept[i] === 1) continue;
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

/** Returns the number of leading sizes whose sum reaches a share of the total. */
function countReaching(sizes: Float64Array, part: number): number {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return total > 0 && part > 0 ? countUntil(sizes, part * total) : 0;
}

/** Returns the number of leading sizes whose sum reaches a value. */
function countUntil(sizes: Float64Array, sum: number): number {
  let reachedSum = 0;
  for (let i = 0; i < sizes.length; i++) {
    reachedSum += sizes[i]!;
    if (reachedSum >= sum * (1 - SHARE_TOLERANCE)) return i + 1;
  }
  return sizes.length;
}
