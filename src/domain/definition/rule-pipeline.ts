import { type Definitions, readsConstituents } from '../datapoints/expression-checks.js';
import { describeExpression } from '../datapoints/expression-text.js';
import { type DatapointExpression, type FieldUse, useCategory, useNumber } from '../datapoints/expression-tree.js';
import { type FunctionSpec, listFunctionSpecs } from '../datapoints/functions.js';
import type { ShareTerms } from '../market/action-effects.js';
import { createTypeSpec, type TypeSpec } from './catalogue.js';
import type { LocatedUse } from './field-uses.js';
import { readDefinitions, type RuleDocument, type RuleSpec, type TreatmentSpec } from './index-document.js';
import {
  categoryFilter,
  dividendFilter,
  excludeList,
  expressionFilter,
  fieldFilter,
  freeFloatFilter,
  historyFilter,
  includeList,
  liquidityFilter,
  marketCapFilter,
  membershipFilter,
  momentumFilter,
  pluginFilter,
  priceFilter,
  rangeFilter,
  seasoningFilter,
  volatilityFilter,
} from './selection-filters.js';
import {
  bufferedTopN,
  compositeScore,
  cumulativeCoverage,
  groupLimit,
  onePerIssuer,
  quota,
  topFraction,
  topN,
} from './selection-rankings.js';
import type { Selection, SelectionClass, Verdict } from './selection.js';
import { type IndexShareTerms, type Weighting, type WeightingClass, WEIGHTING_CLASSES } from './weighting-classes.js';
import type { WeightingSpec } from './weighting.js';

/** All selection classes, in the order of responses. A new class needs a file and an entry in this list. */
export const SELECTION_CLASSES: readonly SelectionClass[] = [
  expressionFilter,
  fieldFilter,
  categoryFilter,
  includeList,
  excludeList,
  topN,
  bufferedTopN,
  topFraction,
  cumulativeCoverage,
  rangeFilter,
  marketCapFilter,
  liquidityFilter,
  priceFilter,
  freeFloatFilter,
  seasoningFilter,
  historyFilter,
  volatilityFilter,
  momentumFilter,
  dividendFilter,
  onePerIssuer,
  groupLimit,
  compositeScore,
  membershipFilter,
  quota,
  pluginFilter,
];

const selectionByType = new Map(SELECTION_CLASSES.map((entry) => [entry.type, entry]));
const weightingByType = new Map(WEIGHTING_CLASSES.map((entry) => [entry.type, entry]));

export const findSelectionClass = (type: string): SelectionClass | undefined => selectionByType.get(type);
export const findWeightingClass = (type: string): WeightingClass | undefined => weightingByType.get(type);

/** Returns the index shares of a weighting, or null if they follow only from weights. */
export function findIndexShares(weighting: Pick<WeightingSpec, 'type' | 'params'> | undefined): IndexShareTerms | null {
  return (weighting && findWeightingClass(weighting.type)?.indexShares?.(weighting.params)) ?? null;
}

/**
 * Returns true if an index holds a fixed number of shares of each constituent, so that its weights follow only prices.
 */
export function keepsShares(weighting: WeightingSpec | undefined): boolean {
  const shares = findIndexShares(weighting);
  return shares?.kind === 'fixed' && shares.splits === 'keep';
}

/** Returns true if the weight of a constituent depends only on its own market value or price. */
export function hasIndependentWeights(weighting: WeightingSpec | undefined): boolean {
  const shares = findIndexShares(weighting);
  return shares?.kind === 'fixed' || findCountedShares(weighting) !== null;
}

/** Returns the effect of corporate actions on index shares, given the treatment and the weighting of an index. */
export function readShareTerms(
  { rights }: Pick<TreatmentSpec, 'rights'>,
  weighting: WeightingSpec | undefined,
): ShareTerms {
  const shares = findIndexShares(weighting);
  return {
    rights: rights ?? (shares?.kind === 'market_value' ? 'subscribe' : 'price_only'),
    splitShares: shares?.kind === 'fixed' ? shares.splits : 'multiply',
  };
}

/**
 * Returns the kind of share counts from which the market values of a weighting are computed: with or without free
 * float. Returns null for other weightings.
 */
export function findCountedShares(weighting: WeightingSpec | undefined): 'all' | 'float' | null {
  const shares = findIndexShares(weighting);
  return shares?.kind === 'market_value' ? shares.counted : null;
}

/** Returns the free float of a weighting by market value if it is an expression. Returns null otherwise. */
export function findFloatExpression(weighting: WeightingSpec | undefined): DatapointExpression | null {
  const shares = findIndexShares(weighting);
  return shares?.kind === 'market_value' ? (shares.float ?? null) : null;
}

/** Returns the catalogue as served by the API. */
export function listRuleTypes(): {
  readonly selection: readonly TypeSpec[];
  readonly weighting: readonly TypeSpec[];
  readonly functions: readonly FunctionSpec[];
} {
  return {
    selection: SELECTION_CLASSES.map(createTypeSpec),
    weighting: WEIGHTING_CLASSES.map(createTypeSpec),
    functions: listFunctionSpecs(),
  };
}

/** Returns a rule that tries its fallback parameters in order while it keeps too few securities. */
function addFallback(entry: SelectionClass, { params, fallback = [] }: RuleSpec): Selection {
  const first = entry.bind(params);
  if (fallback.length === 0) return first;
  const steps = fallback.map(({ when_fewer_than: least, params: fallbackParams }) => ({
    least,
    rule: entry.bind({ ...params, ...fallbackParams }),
  }));
  const rules = [first, ...steps.map(({ rule }) => rule)];
  const years = Math.max(...rules.map(({ dividendYears = 0 }) => dividendYears));
  return {
    reads: removeDuplicates(rules.flatMap(({ reads }) => reads)),
    remembers: rules.some(({ remembers }) => remembers),
    ...(years === 0 ? {} : { dividendYears: years }),
    sentence: [
      first.sentence,
      ...steps.map(({ least, rule }) => `If fewer than ${least} remain, instead: ${rule.sentence}`),
    ].join(' '),
    select(scope) {
      let verdict = first.select(scope);
      for (const { least, rule } of steps) {
        if (countSelected(verdict) >= least) break;
        verdict = rule.select(scope);
      }
      return verdict;
    },
  };
}

const countSelected = ({ kept }: Verdict): number => kept.reduce((count, is) => count + is, 0);

function removeDuplicates(uses: readonly FieldUse[]): FieldUse[] {
  const earlierUses = new Map(
    uses.toReversed().map((use) => [`${use.path} ${use.as} ${describeExpression(use.field)}`, use]),
  );
  return uses.filter((use) => earlierUses.get(`${use.path} ${use.as} ${describeExpression(use.field)}`) === use);
}

/** Pipeline with its rows as executable rules, in order. */
export interface BoundPipeline {
  readonly rules: readonly BoundRule[];
  readonly weighting: Weighting;
  readonly groupCaps: readonly BoundGroupCap[];
  /** Cap of each constituent as an expression. Null if the weighting states a number or no cap. */
  readonly cap: FieldUse | null;
  /** Field of the groups that `cap` and `ladder_caps` limit. Null if they limit constituents. */
  readonly capBy: FieldUse | null;
  readonly phaseIn: BoundPhaseIn | null;
  /** Datapoints by which constituents are ranked between reviews. */
  readonly ranked: readonly LocatedUse[];
  /** True if any rule or expression reads the previous composition. */
  readonly remembers: boolean;
  /** Expressions that the document defines. */
  readonly definitions: Definitions;
}

export interface BoundRule {
  readonly id: string;
  readonly type: string;
  readonly rule: Selection;
}

export interface BoundGroupCap {
  readonly use: FieldUse;
  readonly cap: number;
  readonly groups: readonly string[] | null;
}

export interface BoundPhaseIn {
  readonly use: FieldUse;
  readonly steps: number;
}

/** Binds the pipeline of a valid document. If a class does not accept its row, the caller has a defect. */
export function bindPipeline(
  document: Pick<RuleDocument, 'pipeline' | 'datapoints' | 'plugins'> & Partial<Pick<RuleDocument, 'events'>>,
): BoundPipeline {
  const { selection, weighting } = document.pipeline;
  const definitions = readDefinitions(document);
  const rules = selection.map((row) => ({ id: row.id, type: row.type, rule: bindRule(row) }));
  const boundWeighting = bindWeighting(weighting);
  const { cap, cap_by: capBy, phase_in: phaseIn } = weighting;
  const boundCap = cap === null || typeof cap === 'number' ? null : useNumber(cap);
  const uses = [
    ...rules.flatMap(({ rule }) => rule.reads),
    ...boundWeighting.reads,
    ...(boundCap === null ? [] : [boundCap]),
  ];
  return {
    rules,
    weighting: boundWeighting,
    ranked: listRankedUses(document.events),
    groupCaps: weighting.group_caps.map(({ field, cap, groups }) => ({ use: useCategory(field), cap, groups })),
    cap: boundCap,
    capBy: capBy === undefined ? null : useCategory(capBy),
    phaseIn: phaseIn === undefined ? null : { use: useNumber(phaseIn.field), steps: phaseIn.steps },
    remembers:
      rules.some(({ rule }) => rule.remembers) || uses.some(({ field }) => readsConstituents(field, definitions)),
    definitions,
  };
}

function listRankedUses(events: RuleDocument['events']): LocatedUse[] {
  const fields = { fast_entry: events?.fast_entry?.field, fast_exit: events?.fast_exit?.field };
  return Object.entries(fields).flatMap(([name, field]) =>
    field === undefined ? [] : [{ use: useNumber(field, 'field'), path: `events.${name}.field`, rowId: null }],
  );
}

export function bindRule(row: RuleSpec): Selection {
  return addFallback(requireKnown(findSelectionClass(row.type), row.type), row);
}

export function bindWeighting({ type, params }: Pick<WeightingSpec, 'type' | 'params'>): Weighting {
  return requireKnown(findWeightingClass(type), type).bind(params);
}

function requireKnown<T>(entry: T | undefined, type: string): T {
  if (entry === undefined) throw new Error(`no class ${type}: documents are validated before they are bound`);
  return entry;
}

/** Returns the datapoints that a pipeline reads, with their paths in the document. */
export function listReads({ rules, weighting, groupCaps, cap, capBy, phaseIn, ranked }: BoundPipeline): LocatedUse[] {
  return [
    ...rules.flatMap(({ id, rule }, i) =>
      rule.reads.map((use) => ({ use, path: joinPath(`pipeline.selection[${i}]`, use.path), rowId: id })),
    ),
    ...ranked,
    ...weighting.reads.map((use) => ({ use, path: joinPath('pipeline.weighting', use.path), rowId: null })),
    ...groupCaps.map(({ use }, i) => ({ use, path: `pipeline.weighting.group_caps[${i}].field`, rowId: null })),
    ...listWeightingUse('cap', cap),
    ...listWeightingUse('cap_by', capBy),
    ...listWeightingUse('phase_in.field', phaseIn?.use ?? null),
  ];
}

function listWeightingUse(member: string, use: FieldUse | null): LocatedUse[] {
  return use === null ? [] : [{ use, path: `pipeline.weighting.${member}`, rowId: null }];
}

/**
 * Returns the path of a parameter below its row. A class that reads a fixed datapoint has no parameter; the path is
 * then that of its type.
 */
function joinPath(row: string, parameter: string): string {
  return parameter === '' ? `${row}.type` : `${row}.params.${parameter}`;
}
