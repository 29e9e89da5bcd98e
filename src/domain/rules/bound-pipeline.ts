import { findSelectionClass, findWeightingClass } from './catalogue.js';
import { useCategory, useNumber, type FieldUse } from '../datapoints/field-use.js';
import type { LocatedUse } from './field-findings.js';
import type { Selection } from './selection-class.js';
import { addFallback } from './with-fallback.js';
import type { Weighting } from './weighting-class.js';
import { readDefinitions } from '../documents/definitions.js';
import type { RuleDocument } from '../documents/index-document.js';
import type { RuleSpec } from '../documents/pipeline-rows.js';
import type { WeightingSpec } from '../documents/weighting-spec.js';
import { readsConstituents, type Definitions } from '../datapoints/expressions/reads.js';

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

/** Binds a rule of a valid document. */
export function bindRule(row: RuleSpec): Selection {
  return addFallback(requireKnown(findSelectionClass(row.type), row.type), row);
}

/** Binds a weighting of a valid document. */
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
