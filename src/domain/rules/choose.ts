import type { Engine } from '#kernels/engines/engine.js';
import type { SessionMarket } from '../market/session-market.js';
import type { BoundPipeline } from './bound-pipeline.js';
import type { CrossSection, CrossSections } from '../datapoints/cross-section.js';
import type { StoredModels } from '../risk/stored-model.js';
import type { SelectionScope, Verdict } from './selection-class.js';
import { findLatestReviews, blendReviewValues, type PhaseTerms } from './phase-in.js';
import { createWeights, type RawWeights } from './weighting-class.js';
import type { IndexWeights } from '../datapoints/expression-section.js';

/** Step of the selection: first the universe, then one step per rule. */
export interface WaterfallStep {
  /** Number of the step; 0 for the universe. */
  readonly position: number;
  readonly ruleId: string | null;
  readonly ruleType: string | null;
  readonly remaining: number;
  /** Columns that the rule removed, ascending. */
  readonly excluded: Int32Array;
}

/** Inputs of a choice in addition to the rules and the market. */
export interface DecisionInput {
  readonly session: number;
  readonly universe: Int32Array;
  /** Columns of the constituents before the decision. Null if there are none, or if no rule reads them. */
  readonly incumbents: ArrayLike<number> | null;
}

/** Decision before caps: selected securities, and their weights before any limit. */
export interface Choice {
  readonly cross: CrossSection;
  readonly waterfall: readonly WaterfallStep[];
  /** Securities and verdicts of each applied rule; rules after an empty selection are not applied. */
  readonly verdicts: readonly { readonly scope: SelectionScope; readonly verdict: Verdict }[];
  readonly survivors: Int32Array;
  /** Raw weights; absent if no security remains. */
  readonly raw: RawWeights | undefined;
  /** Securities with a weight; empty if there is no weighting. */
  readonly columns: Int32Array;
  readonly unweighted: Int32Array;
  /** Weights of `columns`, with sum 1. */
  readonly uncapped: Float64Array;
}

export interface ChooseInput extends DecisionInput {
  readonly pipeline: BoundPipeline;
  readonly sections: CrossSections;
  readonly market: SessionMarket;
  readonly engine: Engine;
  readonly riskModel: StoredModels;
  readonly document: PhaseTerms;
  /**
   * Returns the weights of any index, by its id, at its last decision on or before a session. Null before its first
   * composition.
   */
  readonly indexWeights: (indexId: string, session: number) => IndexWeights | null;
}

/** Selects and weights constituents, before any limits. */
export function chooseSecurities(input: ChooseInput): Choice {
  const { pipeline, sections, market, engine, riskModel, session, indexWeights } = input;
  const incumbents = input.incumbents === null ? null : flagMembers(input.incumbents, market.securityCount);
  const cross = sections
    .at(session, input.universe)
    .given({ incumbents, indexWeights: (indexId) => indexWeights(indexId, session) });
  const { waterfall, verdicts, survivors } = applyRules(input, cross, incumbents);
  const emptyChoice = { columns: NO_COLUMNS, unweighted: NO_COLUMNS, uncapped: NO_WEIGHTS };
  const choice = { cross, waterfall, verdicts, survivors, raw: undefined, ...emptyChoice };
  if (survivors.length === 0) return choice;
  const rawWeights = pipeline.weighting.weigh({
    cross,
    columns: survivors,
    identifiers: market.identifiers,
    engine,
    riskModel,
  });
  const raw = applyPhaseIn(rawWeights, { ...input, incumbents }, { cross, survivors });
  if (raw.kind === 'refused') return { ...choice, raw };
  const areAllWeighed = areAllPositive(raw.values);
  const columns = areAllWeighed ? survivors : survivors.filter((_, position) => raw.values[position]! > 0);
  if (columns.length === 0) return { ...choice, raw };
  const unweightedColumns = areAllWeighed ? NO_COLUMNS : survivors.filter((_, position) => raw.values[position] === 0);
  const uncappedWeights = normalise(areAllWeighed ? raw.values : raw.values.filter((value) => value > 0));
  return { ...choice, raw, columns, unweighted: unweightedColumns, uncapped: uncappedWeights };
}

interface PhasedInput extends Omit<ChooseInput, 'incumbents'> {
  readonly incumbents: Uint8Array | null;
}

/** Multiplies raw weights by the datapoint that a pipeline phases in. */
function applyPhaseIn(
  raw: RawWeights,
  { pipeline, document, market, session, sections, incumbents, indexWeights }: PhasedInput,
  { cross, survivors }: Pick<Choice, 'cross' | 'survivors'>,
): RawWeights {
  const { phaseIn } = pipeline;
  if (phaseIn === null || raw.kind === 'refused') return raw;
  const { use, steps } = phaseIn;
  const readValues = (review: number): Float64Array =>
    review === session
      ? cross.numbers(use.field, survivors)
      : sections
          .at(review, survivors)
          .given({ incumbents, indexWeights: (indexId) => indexWeights(indexId, review) })
          .numbers(use.field, survivors);
  const reviews = findLatestReviews(document, market, { session, count: steps });
  const factors = blendReviewValues(reviews.map(readValues), cross.numbers(use.field, survivors), steps);
  return createWeights(
    raw.values.map((value, position) => value * factors[position]!),
    (position) => ({ ...raw.parts?.(position), phase_in: Number.isNaN(factors[position]) ? null : factors[position]! }),
  );
}

/** Applies the selection rules in order, each to the securities that earlier rules kept. */
function applyRules({ pipeline, market }: ChooseInput, cross: CrossSection, incumbents: Uint8Array | null) {
  const { identifiers } = market;
  const { universe } = cross;
  const waterfall: WaterfallStep[] = [
    { position: 0, ruleId: null, ruleType: null, remaining: universe.length, excluded: NO_COLUMNS },
  ];
  const verdicts: { scope: SelectionScope; verdict: Verdict }[] = [];
  let survivors = universe;
  for (const [i, { id, type, rule }] of pipeline.rules.entries()) {
    const scope: SelectionScope = { cross, columns: survivors, identifiers, incumbents };
    const verdict = rule.select(scope);
    verdicts.push({ scope, verdict });
    const excludedColumns = filterByFlag(survivors, verdict.kept, 0);
    survivors = excludedColumns.length === 0 ? survivors : filterByFlag(survivors, verdict.kept, 1);
    waterfall.push({
      position: i + 1,
      ruleId: id,
      ruleType: type,
      remaining: survivors.length,
      excluded: excludedColumns,
    });
  }
  return { waterfall, verdicts, survivors };
}

const NO_COLUMNS = new Int32Array(0);
const NO_WEIGHTS = new Float64Array(0);

/** Returns the columns with a given flag. */
function filterByFlag(columns: Int32Array, flags: Uint8Array, flag: 0 | 1): Int32Array {
  let count = 0;
  for (let i = 0; i < columns.length; i++) if (flags[i] === flag) count++;
  const result = new Int32Array(count);
  for (let i = 0, k = 0; k < count; i++) if (flags[i] === flag) result[k++] = columns[i]!;
  return result;
}

function areAllPositive(values: Float64Array): boolean {
  for (let i = 0; i < values.length; i++) if (!(values[i]! > 0)) return false;
  return true;
}

/** Returns a flag for each column, 1 for the columns in a list. */
export function flagMembers(columns: ArrayLike<number>, securityCount: number): Uint8Array {
  const flags = new Uint8Array(securityCount);
  for (let i = 0; i < columns.length; i++) flags[columns[i]!] = 1;
  return flags;
}

/** Divides values by their sum. If the sum exceeds the range of a double, scales them by the largest value first. */
function normalise(values: Float64Array): Float64Array {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]!;
  if (total < Infinity) {
    const shares = new Float64Array(values.length);
    for (let i = 0; i < values.length; i++) shares[i] = values[i]! / total;
    return shares;
  }
  const largest = values.reduce((most, value) => Math.max(most, value), 0);
  return normalise(values.map((value) => value / largest));
}
