import { z } from 'zod';
import { CHANGE_EVENTS, type ChangeEvent } from '#domain/backtest/simulate/constituent-changes.js';
import { IndexDocument, PipelineSpec, RuleSpec, WeightingSpec } from '#domain/documents/index-document.js';
import { SELECTION_CLASSES, WEIGHTING_CLASSES } from '#domain/rules/catalogue.js';
import { THRESHOLDS, type ThresholdType } from '#domain/rules/thresholds.js';
import { AssetIdentifier, Id, IsoDate } from '#domain/shape.js';
import { compositionErrors, Finding, listingQuery, skippedFields, TypeSpec, ValidationReport } from './common.js';
import { routes } from './route.js';

export const SavedIndex = z
  .strictObject({
    index: IndexDocument,
    findings: z.array(Finding).meta({ description: 'Warnings that did not prevent the save.' }),
  })
  .meta({ id: 'SavedIndex' });
export type SavedIndex = z.infer<typeof SavedIndex>;

export const IndexSummary = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    kind: z.enum(['rule', 'derived']).meta({ description: 'Driven by rules, or derived by optimisation.' }),
    source_index_id: z.string().nullable().meta({ description: 'Parent of a derived index.' }),
    calendar: z.string(),
    currency: z.string(),
    base_date: z.string(),
    has_run: z.boolean().meta({ description: 'Whether a backtest record is stored.' }),
    run_at: z.string().nullable().meta({ description: 'Capture time of that record.' }),
  })
  .meta({ id: 'IndexSummary' });

export const IndexCollection = z
  .strictObject({ indices: z.array(IndexSummary), ...skippedFields })
  .meta({ id: 'IndexCollection' });
export type IndexCollection = z.infer<typeof IndexCollection>;

export const DeletedIndex = z
  .strictObject({
    index_id: z.string().meta({ description: 'The index removed.' }),
    backtest_record_deleted: z.boolean(),
    backtest_results_deleted: z.int().min(0).meta({ description: 'Job records and persisted run results forgotten.' }),
    derived_from: z
      .string()
      .nullable()
      .meta({ description: 'Parent of an optimised child; null for the index the request named.' }),
  })
  .meta({ id: 'DeletedIndex' });

export const IndexDeletion = z
  .strictObject({
    deleted: z
      .array(DeletedIndex)
      .meta({ description: 'The index named first, then its children depth first in the order of their ids.' }),
  })
  .meta({ id: 'IndexDeletion' });
export type IndexDeletion = z.infer<typeof IndexDeletion>;

export const RuleTypes = z
  .strictObject({ selection: z.array(TypeSpec), weighting: z.array(TypeSpec) })
  .meta({ id: 'RuleTypes' });
export type RuleTypes = z.infer<typeof RuleTypes>;

/** The document as clients write it, each row by its class: for the documentation, since the service words its own findings. */
const [firstRule, ...otherRules] = SELECTION_CLASSES.map(({ type, help, params }) =>
  RuleSpec.extend({
    type: z.literal(type),
    params: params.meta({ id: `${type}Params`, description: help }).prefault({}),
  }).meta({ id: `${type}Rule` }),
);
const [firstWeighting, ...otherWeightings] = WEIGHTING_CLASSES.map(({ type, help, params }) =>
  WeightingSpec.extend({
    type: z.literal(type),
    params: params.meta({ id: `${type}Params`, description: help }).prefault({}),
  }).meta({ id: `${type}Weighting` }),
);
const IndexDocumentBody = IndexDocument.extend({
  pipeline: PipelineSpec.extend({
    selection: z
      .array(z.discriminatedUnion('type', [firstRule!, ...otherRules]))
      .max(64)
      .default([]),
    weighting: z.discriminatedUnion('type', [firstWeighting!, ...otherWeightings]),
  })
    .meta({ id: 'PipelineBody' })
    .nullable()
    .default(null),
}).meta({
  id: 'IndexDocumentBody',
  description: 'An IndexDocument with the parameters of every rule and weighting class.',
});

const example = {
  id: 'LARGE-100',
  name: 'Large hundred',
  calendar: 'XNYS',
  base_date: '2019-01-02',
  currency: 'USD',
  rebalance: { frequency: 'quarterly', anchor: 'third_friday' },
  pipeline: {
    selection: [
      { id: 'liquid', type: 'LiquidityFilter', params: { minimum: 5_000_000 } },
      { id: 'size', type: 'BufferedTopN', params: { field: 'FREE_FLOAT_MARKET_CAP', count: 100 } },
    ],
    treatment: { dividends: 'total' },
    weighting: { type: 'MarketCapWeight', params: { free_float: true }, cap: 0.1 },
  },
};

export const PreviewRequest = z
  .strictObject({
    as_of: IsoDate.nullable().default(null).meta({
      description: 'Decision date; default the base date of the index, or the first rebalance of a derived one.',
    }),
  })
  .meta({ id: 'PreviewRequest' });

export const PreviewDocumentRequest = z
  .strictObject({
    document: IndexDocumentBody,
    as_of: IsoDate.nullable().default(null).meta({
      description: 'Decision date; default the base date of the document, or the first rebalance of a derived one.',
    }),
  })
  .meta({ id: 'PreviewDocumentRequest' });

export const PreviewStep = z
  .strictObject({
    position: z.int().min(0).meta({ description: '0 is the universe; rules follow in order.' }),
    remaining: z.int().min(0).meta({ description: 'Survivors after the step.' }),
    excluded: z.array(z.string()).meta({ description: 'Removed by this step; empty for the universe.' }),
    rule_id: z.string().nullable(),
    rule_type: z.string().nullable(),
  })
  .meta({ id: 'PreviewStep' });

export const PreviewAsset = z
  .strictObject({
    identifier: z.string(),
    included: z.boolean().meta({ description: 'Reached the final index.' }),
    weight: z.number().nullable().meta({ description: 'Final fraction; null when not held.' }),
    excluded_by: z.string().nullable().meta({
      description: 'Id of the first excluding rule; null for a survivor without a weight, and on a derived index.',
    }),
    excluded_at: z.int().nullable().meta({
      description: 'Waterfall position of the exclusion; the number of steps for a survivor without a weight.',
    }),
    uncapped_weight: z.number().nullable().meta({ description: 'Set when the cap bound the name.' }),
    capped: z.boolean(),
    source_weight: z.number().nullable().meta({ description: "The parent's weight; derived indices only." }),
    solved_weight: z.number().nullable().meta({ description: 'Equals weight; derived indices only.' }),
    weight_delta: z.number().nullable().meta({ description: 'Solved minus source; derived indices only.' }),
  })
  .meta({ id: 'PreviewAsset' });

export const PreviewConstraint = z
  .strictObject({
    label: z.string(),
    kind: z.enum(['eq', 'ineq']),
    binding: z.boolean().meta({ description: 'Whether the solution sits on the boundary.' }),
    slack: z.number().min(0).meta({ description: 'Distance to the boundary in `unit`.' }),
    unit: z.enum(['fraction', 'count', 'value']),
    relaxed_by: z.number().nullable().meta({
      description:
        'Change of the parameter behind this side where the row gave way by its priority; null where it holds as stated.',
    }),
  })
  .meta({ id: 'PreviewConstraint' });

export const PreviewSolve = z
  .strictObject({
    source_index_id: z.string(),
    objective: z.string(),
    rebalance_date: z.string().meta({ description: 'Latest parent rebalance on or before as_of.' }),
    binding: z.array(z.string()).meta({ description: 'Labels of binding constraints.' }),
    constraints: z.array(PreviewConstraint).meta({ description: 'Every constraint, binding or not.' }),
  })
  .meta({ id: 'PreviewSolve' });

export const PreviewResponse = z
  .strictObject({
    index_id: z.string(),
    as_of: z.string().meta({ description: 'Date asked for, echoed unchanged.' }),
    resolved_date: z.string().nullable().meta({
      description: 'Latest session with data on or before as_of; null before the first market date of the store.',
    }),
    assets: z.array(PreviewAsset).meta({ description: 'One row per name: included by weight, then excluded by step.' }),
    weights: z.record(z.string(), z.number()).meta({ description: 'Final weights by identifier.' }),
    total_weight: z.number(),
    cap: z.number().nullable().meta({ description: 'Effective cap; always null on a derived index.' }),
    cap_redistributed: z.number(),
    steps: z.array(PreviewStep).nullable().meta({ description: 'The waterfall; null on a derived index.' }),
    solve: PreviewSolve.nullable().meta({ description: 'The optimisation; null on a rule-driven index.' }),
    findings: z.array(Finding).meta({ description: 'Warnings, as of survivors without a weight.' }),
  })
  .meta({ id: 'PreviewResponse' });
export type PreviewResponse = z.infer<typeof PreviewResponse>;

const Scalar = z.union([z.string(), z.number(), z.boolean()]).nullable();

export const ExplainedDatapoint = z
  .strictObject({
    path: z.string().meta({ description: 'Where the definition names the datapoint.' }),
    field: z.string().meta({ description: 'What was read, in words.' }),
    value: Scalar,
    from: z.string().nullable().meta({
      description: 'First date read; equals `to` for a single value, null for a value that was always valid.',
    }),
    to: z.string().nullable().meta({ description: 'Last date read.' }),
    observations: z.int().min(0).meta({ description: 'Values found between them.' }),
  })
  .meta({ id: 'ExplainedDatapoint' });

export const ExplainedThreshold = z
  .strictObject({
    type: z.enum(Object.keys(THRESHOLDS) as [ThresholdType, ...ThresholdType[]]).meta({
      description: `${Object.entries(THRESHOLDS)
        .map(([type, { help }]) => `\`${type}\` ${help}`)
        .join('; ')}.`,
    }),
    rank: z.int().nullable().meta({ description: 'Last rank that reaches it; null off a ranking.' }),
    value: z.number().nullable().meta({
      description: 'The bound itself, of a ranking the value of the name at that rank; null where that has none.',
    }),
    met: z.boolean().meta({ description: 'Whether the name reached it.' }),
    distance: z.number().nullable().meta({
      description: "Move of the name's value that reaches it; 0 when met, null off the number line.",
    }),
  })
  .meta({ id: 'ExplainedThreshold', description: 'What a name had to reach under a rule.' });

export const ExplainedRule = z
  .strictObject({
    position: z.int().min(1),
    rule_id: z.string(),
    rule_type: z.string(),
    constituent: z.boolean().meta({ description: 'Whether the composition before had the name.' }),
    kept: z.boolean(),
    test: z.string().meta({ description: 'The condition in words.' }),
    value: Scalar.meta({ description: 'Value of the name; null when missing.' }),
    threshold: z.number().nullable().meta({
      description:
        'Bound the value was held against; for a ranking the value of the last name that reaches the threshold which the name faced.',
    }),
    rank: z.int().nullable(),
    cutoff: z.int().nullable().meta({
      description: 'Last rank that reaches the threshold which the name faced: of a buffer, another for constituents.',
    }),
    incumbent: z.boolean().meta({ description: 'Whether the name stayed because it was a constituent.' }),
    distance: z.number().nullable().meta({
      description: 'Move of the value of an excluded name to its threshold; 0 when kept; null off the number line.',
    }),
    thresholds: z.array(ExplainedThreshold).meta({
      description:
        'All that the name had to reach, the decisive one first: `threshold`, `cutoff` and `distance` are of that.',
    }),
    comparisons: z
      .array(
        z.strictObject({
          path: z.string(),
          test: z.string(),
          value: Scalar,
          outcome: z.boolean().nullable().meta({ description: 'Null when unknown.' }),
        }),
      )
      .meta({ description: 'Of an expression: each comparison with the value it met.' }),
  })
  .meta({ id: 'ExplainedRule' });

const SolvedRow = z
  .strictObject({
    id: z.string().meta({ description: "The client's row id; empty without one." }),
    index: z.int().nullable().meta({ description: 'Position of the row; null for an implicit one.' }),
    type: z.string(),
    label: z.string(),
    side: z.enum(['lower', 'upper', 'eq']),
    kind: z.enum(['eq', 'ineq']),
    unit: z.enum(['fraction', 'count', 'value']),
    value: z.number().meta({ description: 'What the row measures at the solved weights.' }),
    limit: z.number().meta({ description: 'The bound of this side.' }),
    slack: z.number().min(0).meta({ description: 'Distance between the two.' }),
    binding: z.boolean().meta({ description: 'Whether the weights sit on the bound.' }),
    shadow_price: z
      .number()
      .meta({ description: 'The multiplier of the row: change of the objective per unit of the bound.' }),
    coefficient: z
      .number()
      .nullable()
      .meta({ description: "Change of the row's value per unit of the weight; null where it has none of its own." }),
    force: z.number().meta({ description: "What the row adds to the objective's derivative by the weight." }),
  })
  .meta({ id: 'SolvedRow', description: 'One side of a constraint row that the name stands in.' });

const NameSolve = z
  .strictObject({
    rows: z
      .array(SolvedRow)
      .meta({ description: 'Every row the name stands in, binding or not, in row order, lower before upper.' }),
    lower: z
      .number()
      .nullable()
      .meta({ description: 'Least weight the name could have, choices of names included; null for none.' }),
    upper: z.number().nullable().meta({ description: 'Largest weight likewise; null for none.' }),
    stiffness: z.number().meta({
      description:
        'Second derivative of the objective by the weight: twice the variance of the name and the tie-breaking term.',
    }),
    pull: z
      .number()
      .meta({ description: 'Twice the sum of its covariances with the active weights of the other names.' }),
    force: z.number().meta({ description: 'Sum of the forces of all rows and of a choice of names.' }),
    free_weight: z.number().nullable().meta({
      description:
        'source_weight - (pull + force) / stiffness: where the name would rest without bounds; null where nothing resists a move.',
    }),
    held_by: z.enum(['free', 'lower', 'upper', 'fixed', 'kink']).meta({
      description:
        '`free` rests at free_weight, `lower`, `upper` and `fixed` at a bound, `kink` at the weight that trades are measured from or a soft bound.',
    }),
    held_at: z.number().nullable().meta({ description: 'The bound or kink that holds it; null when free.' }),
    solved_weight: z.number().meta({ description: 'free_weight or held_at.' }),
    scale: z.number().meta({
      description: 'What weights taken out as nought but for rounding left to the others; 1 where there were none.',
    }),
  })
  .meta({
    id: 'NameSolve',
    description: 'Where the solver left the name: at rest between the forces on it, or held by a bound.',
  });

const DerivedSource = z
  .strictObject({
    source_index_id: z.string(),
    objective: z.string(),
    source_weight: z.number().nullable().meta({
      description:
        "The parent's weight, which the optimisation starts from; null when the parent does not hold the name.",
    }),
    get source() {
      return IndexExplanation;
    },
    solve: NameSolve.nullable().meta({ description: 'Null when the parent does not hold the name.' }),
    findings: z.array(Finding).meta({ description: 'Warnings of the optimisation.' }),
  })
  .meta({
    id: 'DerivedSource',
    description: "The chain behind the parent's weight on the rebalance that was optimised, and the optimisation.",
  });

const ConstituentChange = z
  .strictObject({
    date: z.string().meta({ description: 'Session at whose close it happened.' }),
    event: z.enum(Object.keys(CHANGE_EVENTS) as [ChangeEvent, ...ChangeEvent[]]).meta({
      description: `${Object.entries(CHANGE_EVENTS)
        .map(([event, words]) => `\`${event}\` ${words}`)
        .join('; ')}.`,
    }),
    ex_date: z.string().nullable().meta({ description: 'Of the corporate action; null without one.' }),
    related: z.string().nullable().meta({ description: 'Name into which it turned, or from which it came.' }),
    ratio: z.number().nullable().meta({
      description:
        'Shares received for one: of `related` by a name that left, of the name itself by `related` where it came from that.',
    }),
    weight: z.number().meta({
      description:
        'Fraction of the index: with which the name left, at the price paid for it and before the trades of the close; with which it came, after them. Negative when short.',
    }),
    price: z.number().meta({ description: 'Money a share that was paid for it, in `currency`.' }),
    currency: z.string().meta({ description: 'Currency in which the name is quoted.' }),
    last_bar: z.string().nullable().meta({ description: 'Day of its latest bar by then.' }),
    ordered_on: z.string().nullable().meta({
      description: 'Rebalance that asked for it, where its order had waited for a bar; else null.',
    }),
  })
  .meta({ id: 'ConstituentChange', description: 'How a name came into the index, or left it.' });

const WaitingOrder = z
  .strictObject({
    date: z.string().meta({ description: 'Rebalance that asked for it.' }),
    side: z.enum(['buy', 'sell']),
    target_weight: z.number().meta({ description: 'Weight that was asked for.' }),
    reason: z.enum(['no_price', 'stale_price', 'delisted']),
  })
  .meta({ id: 'WaitingOrder', description: 'An order that waits for a bar, with `stale_targets: "defer"`.' });

export const IndexExplanation = z
  .strictObject({
    index_id: z.string(),
    identifier: z.string(),
    requested_as_of: z.string().nullable(),
    as_of: z.string().meta({ description: 'Session the explanation holds for.' }),
    rebalance_date: z.string().meta({ description: 'Effective date of the composition in force.' }),
    decision_date: z.string().meta({ description: 'Session whose data decided it.' }),
    in_universe: z.boolean(),
    included: z.boolean(),
    excluded_by: z.string().nullable(),
    datapoints: z.array(ExplainedDatapoint),
    rules: z.array(ExplainedRule),
    weighting: z
      .strictObject({
        type: z.string(),
        formula: z.string(),
        parts: z.record(z.string(), Scalar).meta({ description: 'What the formula is filled with.' }),
        raw: z.number().meta({ description: 'Raw weight.' }),
        raw_total: z.number().meta({ description: 'Sum of the raw weights of all names.' }),
        uncapped_weight: z.number().meta({ description: 'raw / raw_total.' }),
      })
      .nullable(),
    capping: z
      .strictObject({
        cap: z.number().nullable(),
        floor: z.number(),
        scale: z.number().meta({ description: 'weight = min(cap, max(floor, scale * uncapped_weight)).' }),
        capped: z.boolean(),
        rounds: z.array(z.strictObject({ scale: z.number(), capped: z.array(z.string()) })).meta({
          description:
            'Redistribution under a single cap: each round scales the names not yet capped, those then above the cap join.',
        }),
      })
      .nullable(),
    derivation: DerivedSource.nullable().meta({
      description:
        'Of a derived index, whose rules, weighting and capping are those of its source; null on a rule-driven one.',
    }),
    stayed: z.number().meta({
      description:
        'Share of the decided weights still there on the effective date: names may go between the two. The applied weight is the decided one over it.',
    }),
    weight: z.number().nullable().meta({
      description: 'Applied weight of the composition in force; null when that leaves the name out.',
    }),
    held_weight: z.number().nullable().meta({ description: 'Weight held at the close of as_of; null when not held.' }),
    entered: ConstituentChange.nullable().meta({
      description: 'How it came in last, by as_of; null when it never did.',
    }),
    left: ConstituentChange.nullable().meta({
      description: 'How it left last, by as_of; null when it never did. Earlier than `entered` where it came back.',
    }),
    order: WaitingOrder.nullable().meta({ description: 'What the index waits to trade of it; null for nothing.' }),
    drift: z
      .strictObject({ held_weight: z.number().nullable(), change: z.number() })
      .nullable()
      .meta({ description: 'Weight held at as_of and its change since; null on the rebalance date.' }),
  })
  .meta({ id: 'IndexExplanation' });
export type IndexExplanation = z.infer<typeof IndexExplanation>;

export const WhatIfRequest = z
  .strictObject({
    index_id: Id.nullable().default(null).meta({ description: 'A stored index as the base.' }),
    document: IndexDocumentBody.nullable().default(null).meta({ description: 'Or a document as the base.' }),
    patch: z
      .record(z.string(), z.unknown())
      .nullable()
      .default(null)
      .meta({ description: 'Changes to the base: a JSON merge patch (RFC 7396), arrays replaced whole.' }),
    changed: IndexDocumentBody.nullable().default(null).meta({ description: 'Or the whole changed document.' }),
    as_of: IsoDate.nullable()
      .default(null)
      .meta({ description: 'Decision date of both; default the latest date of the store.' }),
  })
  .meta({
    id: 'WhatIfRequest',
    description: 'Exactly one of index_id and document, and exactly one of patch and changed.',
  });

const WeightChange = z
  .strictObject({ identifier: z.string(), before: z.number(), after: z.number(), change: z.number() })
  .meta({ id: 'WeightChange' });
const WhatIfSide = z
  .strictObject({
    index_id: z.string(),
    constituents: z.int().min(0),
    largest: z.number(),
    effective_assets: z.number(),
    cap: z.number().nullable(),
    cap_redistributed: z.number(),
  })
  .meta({ id: 'WhatIfSide' });

export const WhatIfResponse = z
  .strictObject({
    as_of: z.string(),
    resolved_date: z.string().nullable(),
    before: WhatIfSide,
    after: WhatIfSide,
    added: z.array(WeightChange),
    removed: z.array(WeightChange),
    changed: z.array(WeightChange),
    turnover: z.number().meta({ description: 'One-way: half the sum of absolute changes.' }),
    findings: z.array(Finding).meta({ description: 'Warnings about the changed document.' }),
  })
  .meta({ id: 'WhatIfResponse' });
export type WhatIfResponse = z.infer<typeof WhatIfResponse>;

export const Methodology = z
  .strictObject({
    index_id: z.string(),
    name: z.string(),
    sentences: z
      .array(z.strictObject({ number: z.int().min(1), text: z.string() }))
      .meta({ description: 'In the order in which they are applied.' }),
  })
  .meta({ id: 'Methodology' });
export type Methodology = z.infer<typeof Methodology>;

const indexPath = z.strictObject({ index_id: Id });

export const indexRoutes = routes({
  listIndices: {
    method: 'GET',
    path: '/indices',
    scope: 'read',
    tag: 'indices',
    summary: 'Stored index definitions.',
    query: listingQuery,
    success: { status: 200, description: 'The definitions by id.', schema: IndexCollection },
    errors: [],
  },
  createIndex: {
    method: 'POST',
    path: '/indices',
    scope: 'write',
    tag: 'indices',
    summary: 'Stores a new index definition.',
    description: 'A taken id is refused with the finding DUPLICATE_ID; replacing is done with PUT.',
    body: { schema: IndexDocumentBody, document: true, example },
    success: { status: 200, description: 'The stored document with its warnings.', schema: SavedIndex },
    errors: [],
  },
  listRuleTypes: {
    method: 'GET',
    path: '/indices/rule-types',
    scope: 'read',
    tag: 'indices',
    summary: 'Every selection and weighting class with its parameters.',
    success: { status: 200, description: 'The catalogue.', schema: RuleTypes },
    errors: [],
  },
  validateIndex: {
    method: 'POST',
    path: '/indices/validate',
    scope: 'read',
    tag: 'indices',
    summary: 'Everything there is to say about a definition; nothing is stored.',
    description: 'Answers 200 with a report whatever it finds, except for a missing calendar, which is refused.',
    body: { schema: IndexDocumentBody, document: true, report: true, example },
    success: { status: 200, description: 'The report.', schema: ValidationReport },
    errors: [],
  },
  previewDocument: {
    method: 'POST',
    path: '/indices/preview',
    scope: 'read',
    tag: 'indices',
    summary: 'Composes a definition as sent on one date; nothing is stored.',
    body: { schema: PreviewDocumentRequest, document: true, example: { document: example, as_of: '2020-06-19' } },
    success: { status: 200, description: 'The composition and how it came about.', schema: PreviewResponse },
    errors: compositionErrors,
  },
  whatIf: {
    method: 'POST',
    path: '/indices/whatif',
    scope: 'read',
    tag: 'indices',
    summary: 'What a change of a definition would change on one date; nothing is stored.',
    body: {
      schema: WhatIfRequest,
      document: true,
      example: { index_id: 'LARGE-100', patch: { pipeline: { weighting: { cap: 0.05 } } } },
    },
    success: { status: 200, description: 'Names added, removed and changed.', schema: WhatIfResponse },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE', ...compositionErrors],
  },
  getIndex: {
    method: 'GET',
    path: '/indices/{index_id}',
    scope: 'read',
    tag: 'indices',
    summary: 'A stored definition, exactly as PUT accepts it.',
    params: indexPath,
    success: { status: 200, description: 'The document.', schema: IndexDocument },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putIndex: {
    method: 'PUT',
    path: '/indices/{index_id}',
    scope: 'write',
    tag: 'indices',
    summary: 'Stores or replaces a definition.',
    params: indexPath,
    body: { schema: IndexDocumentBody, document: true, example },
    success: { status: 200, description: 'The stored document with its warnings.', schema: SavedIndex },
    errors: ['ID_MISMATCH'],
  },
  deleteIndex: {
    method: 'DELETE',
    path: '/indices/{index_id}',
    scope: 'write',
    tag: 'indices',
    summary: 'Removes a definition, its optimised children and every result of them.',
    params: indexPath,
    success: { status: 200, description: 'What was removed.', schema: IndexDeletion },
    errors: ['INDEX_NOT_FOUND'],
  },
  previewIndex: {
    method: 'POST',
    path: '/indices/{index_id}/preview',
    scope: 'read',
    tag: 'indices',
    summary: 'Composes a stored definition on one date.',
    params: indexPath,
    body: { schema: PreviewRequest, optional: true, example: { as_of: '2020-06-19' } },
    success: { status: 200, description: 'The composition and how it came about.', schema: PreviewResponse },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE', ...compositionErrors],
  },
  explainName: {
    method: 'GET',
    path: '/indices/{index_id}/explain/{identifier}',
    scope: 'read',
    tag: 'indices',
    summary: 'The chain behind one weight.',
    description:
      'From the datapoints that were read to the weight held today: `raw / raw_total`, then `min(cap, max(floor, scale * uncapped_weight))`, over `stayed`, gives the applied weight. ' +
      'What has happened to the name since stands in `entered`, `left` and `order`. ' +
      "On a derived index the chain behind the parent's weight comes first (`derivation.source`), then every constraint row the name stands in and what held it: `solved_weight * scale / stayed` is the applied weight.",
    params: z.strictObject({ index_id: Id, identifier: AssetIdentifier }),
    query: z.strictObject({ as_of: IsoDate.optional().meta({ description: 'Default the latest date of the store.' }) }),
    success: { status: 200, description: 'The explanation.', schema: IndexExplanation },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'IDENTIFIER_NOT_FOUND', ...compositionErrors],
  },
  getMethodology: {
    method: 'GET',
    path: '/indices/{index_id}/methodology',
    scope: 'read',
    tag: 'indices',
    summary: 'The definition in numbered English sentences.',
    params: indexPath,
    success: { status: 200, description: 'The methodology.', schema: Methodology },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});
