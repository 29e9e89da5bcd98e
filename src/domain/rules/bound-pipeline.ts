import type { PipelineSpec } from '../documents/index-document.js';
import { selectionClassOf, weightingClassOf } from './catalogue.js';
import { category, type FieldUse } from '../datapoints/field-use.js';
import type { PlacedUse } from './field-findings.js';
import type { Selection } from './selection-class.js';
import type { Weighting } from './weighting-class.js';

/** A pipeline whose rows are rules ready to decide, in order. */
export interface BoundPipeline {
  readonly rules: readonly BoundRule[];
  readonly weighting: Weighting;
  readonly groupCaps: readonly BoundGroupCap[];
  /** Whether any rule looks at the previous composition. */
  readonly remembers: boolean;
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

/** The pipeline of a valid document. A row that its class does not accept is a defect of the caller. */
export function bindPipeline({ selection, weighting }: PipelineSpec): BoundPipeline {
  const rules = selection.map(({ id, type, params }) => ({
    id,
    type,
    rule: known(selectionClassOf(type), type).bind(params),
  }));
  return {
    rules,
    weighting: known(weightingClassOf(weighting.type), weighting.type).bind(weighting.params),
    groupCaps: weighting.group_caps.map(({ field, cap, groups }) => ({ use: category(field), cap, groups })),
    remembers: rules.some(({ rule }) => rule.remembers),
  };
}

function known<T>(entry: T | undefined, type: string): T {
  if (entry === undefined) throw new Error(`no class ${type}: documents are validated before they are bound`);
  return entry;
}

/** Every datapoint that a pipeline reads, at its place in the document. */
export function readsOf({ rules, weighting, groupCaps }: BoundPipeline): PlacedUse[] {
  return [
    ...rules.flatMap(({ id, rule }, i) =>
      rule.reads.map((use) => ({ use, path: join(`pipeline.selection[${i}]`, use.path), rowId: id })),
    ),
    ...weighting.reads.map((use) => ({ use, path: join('pipeline.weighting', use.path), rowId: null })),
    ...groupCaps.map(({ use }, i) => ({ use, path: `pipeline.weighting.group_caps[${i}].field`, rowId: null })),
  ];
}

/** A class that reads a datapoint of its own accord answers for it with its type. */
function join(row: string, parameter: string): string {
  return parameter === '' ? `${row}.type` : `${row}.params.${parameter}`;
}
