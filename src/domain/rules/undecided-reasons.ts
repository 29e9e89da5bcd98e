import type { FailedDecision } from '../books/decider.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import { describeExpression } from '../datapoints/expressions/sentences.js';
import type { FieldUse } from '../datapoints/field-use.js';
import type { Finding } from '../refusals/findings.js';
import { Refusal } from '../refusals/refusal.js';
import type { BoundPipeline } from './bound-pipeline.js';
import type { Choice, WaterfallStep } from './choose.js';
import type { CapInfeasible } from './solve-grouping.js';

type SelectionOutcome = Pick<Choice, 'cross' | 'verdicts' | 'survivors'> & { readonly pipeline: BoundPipeline };

export function refuseNothingSurvives(
  waterfall: readonly WaterfallStep[],
  { cross, pipeline, verdicts }: SelectionOutcome,
): FailedDecision {
  const last = waterfall.find(({ remaining }) => remaining === 0)!;
  if (last.ruleId === null)
    return createUndecided('empty', 'universe', ['The universe contains no security with a price.']);
  const position = last.position - 1;
  const missingInput = {
    cross,
    columns: verdicts[position]!.scope.columns,
    reads: pipeline.rules[position]!.rule.reads,
  };
  const summary = `No security is left after the rule "${last.ruleId}"`;
  return createUndecided(
    'empty',
    `pipeline.selection[${position}]`,
    describeMissing(summary, missingInput),
    last.ruleId,
  );
}

export function refuseNothingWeighs({ cross, pipeline, survivors }: SelectionOutcome): FailedDecision {
  const summary = `None of the ${survivors.length} selected securities has a weight: their datapoints are missing or not positive`;
  const missingInput = { cross, columns: survivors, reads: pipeline.weighting.reads };
  return createUndecided('refused', 'pipeline.weighting', describeMissing(summary, missingInput));
}

/**
 * Creates the result of a session without a composition, from a sentence about the reason and a function that returns
 * details. The details are needed only if there is no earlier composition.
 */
function createUndecided(
  kind: FailedDecision['kind'],
  path: string,
  [message, more]: readonly [string, (() => string)?],
  rowId?: string,
): FailedDecision {
  const row = rowId === undefined && kind === 'refused' ? {} : { row_id: rowId ?? null };
  const finding: Finding = { severity: 'error', code: 'NO_WEIGHT_DATA', message, path, ...row };
  const explain = () => {
    const fullFinding = { ...finding, message: `${message}${more!()}` };
    return new Refusal('EMPTY_INDEX', fullFinding.message, { findings: [fullFinding] });
  };
  return { kind, code: 'EMPTY_INDEX', finding, ...(more === undefined ? {} : { explain }) };
}

interface MissingInput {
  readonly cross: CrossSection;
  /** Requested securities, at least one. */
  readonly columns: Int32Array;
  readonly reads: readonly FieldUse[];
}

/** Describes the datapoint that no security has. States the first date on which a security can have it. */
function describeMissing(what: string, { cross, columns, reads }: MissingInput): readonly [string, (() => string)?] {
  const isMissing = ({ field, as, money }: FieldUse) =>
    as === 'number' && (money ? cross.money : cross.numbers)(field, columns).every((value) => Number.isNaN(value));
  const missingField = reads.find(isMissing);
  if (missingField === undefined) return [`${what}.`];
  const text = describeExpression(missingField.field);
  const describeKnown = () => {
    const days = Array.from(columns, (column) => cross.read(missingField.field, column).knownFrom ?? '').filter(
      Boolean,
    );
    return days.length === 0
      ? ''
      : ` It can be known from ${days.toSorted()[0]!} on, because their price bars begin too late.`;
  };
  return [`${what}: none of the ${columns.length} securities has ${text}.`, describeKnown];
}

export function refuseCap({ message, stated }: Pick<CapInfeasible, 'message' | 'stated'>): FailedDecision {
  return {
    kind: 'refused',
    code: 'VALIDATION_FAILED',
    finding: { severity: 'error', code: 'CAP_INFEASIBLE', message, path: `pipeline.weighting.${stated}` },
  };
}

export const refuseZeroCaps = (count: number): FailedDecision =>
  refuseCap({ message: `The cap of each of the ${count} constituents is 0 or less.`, stated: 'cap' });

/** Maximum number of securities that a message lists. */
const NAMES_LISTED_MAX = 10;

export function reportMissingData(columns: Int32Array, identifiers: readonly string[]): Finding {
  return {
    severity: 'warning',
    code: 'NO_WEIGHT_DATA',
    message: `${columns.length} selected ${columns.length === 1 ? 'security has' : 'securities have'} no weight and ${columns.length === 1 ? 'is' : 'are'} not held: ${formatSecurities(columns, identifiers)}.`,
    path: 'pipeline.weighting',
  };
}

export function reportWithoutCap(columns: Int32Array, identifiers: readonly string[]): Finding {
  const [count, verb] = columns.length === 1 ? ['1 constituent', 'is'] : [`${columns.length} constituents`, 'are'];
  return {
    severity: 'warning',
    code: 'NO_WEIGHT_DATA',
    message: `${count} without a value of the cap ${verb} not capped: ${formatSecurities(columns, identifiers)}.`,
    path: 'pipeline.weighting.cap',
  };
}

function formatSecurities(columns: Int32Array, identifiers: readonly string[]): string {
  const firstNames = Array.from(columns.subarray(0, NAMES_LISTED_MAX), (column) => identifiers[column]!).join(', ');
  return columns.length > NAMES_LISTED_MAX ? `${firstNames} and ${columns.length - NAMES_LISTED_MAX} more` : firstNames;
}
