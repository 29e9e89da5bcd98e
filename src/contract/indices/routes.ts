import { defineObject } from '#domain/schema/define-object.js';
import { IndexDocument } from '#domain/documents/index-document.js';
import { AssetIdentifier, Id, IsoDate } from '#domain/schema/shape.js';
import { compositionErrors, listingQuery, purgeQuery, ValidationReport } from '../common.js';
import { FILE_MEDIA } from '../media-formats.js';
import { defineRoutes } from '../route.js';
import { definitionRun } from '../run-state.js';
import { asKnownErrors } from '../stores/data-versions.js';
import {
  SavedIndex,
  IndexCollection,
  IndexDeletion,
  OverlayTypes,
  RuleTypes,
  IndexDocumentBody,
  example,
} from './definition.js';
import { DatapointEvaluation, DatapointRequest } from './datapoints.js';
import { LevelSketch, LevelSketchRequest, PreviewDocumentRequest, PreviewRequest, PreviewResponse } from './preview.js';
import { IndexExplanation } from './explanation.js';
import { WhatIfResponse, WhatIfRequest } from './what-if.js';
import { RebalancePackRequest } from '#domain/rebalance-pack/pack-request.js';
import { RebalancePack } from './rebalance-pack.js';
import { Methodology } from './methodology.js';
import { TemplateCollection, TemplateDetail, TemplateLevel, templatePath, templateQuery } from './templates.js';

const indexPath = defineObject(() => ({ index_id: Id }));

export const indexRoutes = defineRoutes({
  listIndices: {
    method: 'GET',
    path: '/indices',
    scope: 'read',
    tag: 'indices',
    summary: 'Lists the stored index definitions.',
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
    versioned: true,
    description: 'An existing id is refused with the finding DUPLICATE_ID. Use PUT to replace a definition.',
    body: { schema: IndexDocumentBody, document: true, example },
    success: { status: 200, description: 'The stored document with its warnings.', schema: SavedIndex },
    errors: [],
  },
  listRuleTypes: {
    method: 'GET',
    path: '/indices/rule-types',
    scope: 'read',
    tag: 'indices',
    summary: 'Lists every selection and weighting class with its parameters, and all other fields of a definition.',
    description: 'Each field has label, help, unit, default, choices and conditions, for use in forms.',
    success: { status: 200, description: 'The catalogue.', schema: RuleTypes },
    errors: [],
  },
  listOverlayTypes: {
    method: 'GET',
    path: '/indices/overlay-types',
    scope: 'read',
    tag: 'indices',
    summary: 'Lists every type of overlay with its formula, the source of the formula, and its parameters.',
    success: { status: 200, description: 'The catalogue.', schema: OverlayTypes },
    errors: [],
  },
  listMethodologyTemplates: {
    method: 'GET',
    path: '/indices/templates',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary:
      'Lists the templates of published methodologies, with the data that each template requires and its availability in the served store.',
    success: { status: 200, description: 'The templates by id.', schema: TemplateCollection },
    errors: [],
  },
  getMethodologyTemplate: {
    method: 'GET',
    path: '/indices/templates/{methodology_id}',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary: 'Returns one published methodology as index documents that can be stored.',
    description: 'Documents refer to each other by their ids in the response.',
    params: templatePath,
    query: templateQuery,
    success: { status: 200, description: 'The template.', schema: TemplateDetail },
    errors: ['TEMPLATE_NOT_FOUND'],
  },
  getMethodologyTemplateLevel: {
    method: 'GET',
    path: '/indices/templates/{methodology_id}/level',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary:
      'Computes the level of a published methodology on the served store over the last three years. Nothing is stored.',
    description: 'The level is computed once for each version of the store.',
    params: templatePath,
    success: { status: 200, description: 'The level.', schema: TemplateLevel },
    errors: ['TEMPLATE_NOT_FOUND', ...compositionErrors],
  },
  validateIndex: {
    method: 'POST',
    path: '/indices/validate',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary: 'Validates a definition. Nothing is stored.',
    description: 'The status is 200 with a report, regardless of the findings. Only a missing calendar is refused.',
    body: { schema: IndexDocumentBody, document: true, report: true, example },
    success: { status: 200, description: 'The report.', schema: ValidationReport },
    errors: [],
  },
  evaluateDatapoint: {
    method: 'POST',
    path: '/indices/datapoints/evaluate',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary: 'Analyses an expression: its canonical text, its unit and the values of a few securities.',
    description:
      'The status is 200 with findings, even if the expression has errors. Findings about a text have the positions of its characters. Values require a served store.',
    body: {
      schema: DatapointRequest,
      example: { expression: 'FREE_FLOAT_MARKET_CAP * max(1 + zscore(DIVIDEND_YIELD, by=SECTOR), 0)' },
    },
    success: { status: 200, description: 'The parsed expression.', schema: DatapointEvaluation },
    errors: compositionErrors,
  },
  previewDocument: {
    method: 'POST',
    path: '/indices/preview',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary: 'Computes the composition of a definition on one date. Nothing is stored.',
    body: { schema: PreviewDocumentRequest, document: true, example: { document: example, as_of: '2020-06-19' } },
    success: { status: 200, description: 'The composition and its derivation.', schema: PreviewResponse },
    errors: [...asKnownErrors, ...compositionErrors],
  },
  sketchLevel: {
    method: 'POST',
    path: '/indices/level',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary: 'Computes the level of a definition over the last three years. Nothing is stored.',
    body: {
      schema: LevelSketchRequest,
      document: true,
      example: {
        document: {
          id: 'NET',
          kind: 'overlay',
          name: 'Net of a fee',
          calendar: 'XNYS',
          base_date: '2019-01-02',
          currency: 'USD',
          source_index_id: 'LARGE-100',
          overlay: { type: 'fee', percent: 0.5 },
        },
      },
    },
    success: { status: 200, description: 'The level.', schema: LevelSketch },
    errors: compositionErrors,
  },
  whatIf: {
    method: 'POST',
    path: '/indices/whatif',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary: 'Computes the effect of a changed definition on one date. Nothing is stored.',
    body: {
      schema: WhatIfRequest,
      document: true,
      example: { index_id: 'LARGE-100', patch: { pipeline: { weighting: { cap: 0.05 } } } },
    },
    success: { status: 200, description: 'Added, removed and changed securities.', schema: WhatIfResponse },
    errors: [...asKnownErrors, 'INDEX_NOT_FOUND', ...compositionErrors],
  },
  getIndex: {
    method: 'GET',
    path: '/indices/{index_id}',
    scope: 'read',
    withoutMarket: true,
    tag: 'indices',
    summary: 'Returns a stored definition, in the form that PUT accepts.',
    params: indexPath,
    query: defineObject(() => ({
      on: IsoDate.optional().meta({
        description:
          'Day (YYYY-MM-DD) of the definition in force, including all amendments that are effective on or before this day. Default: the document as stored.',
      }),
    })),
    success: { status: 200, description: 'The document.', schema: IndexDocument },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putIndex: {
    method: 'PUT',
    path: '/indices/{index_id}',
    scope: 'write',
    tag: 'indices',
    summary: 'Stores or replaces a definition.',
    versioned: true,
    params: indexPath,
    body: { schema: IndexDocumentBody, document: true, example },
    success: { status: 200, description: 'The stored document with its warnings.', schema: SavedIndex },
    errors: ['APPROVAL_REQUIRED', 'ID_MISMATCH'],
  },
  deleteIndex: {
    method: 'DELETE',
    path: '/indices/{index_id}',
    scope: 'write',
    tag: 'indices',
    summary: 'Deletes a definition, the indices that depend on it, and all their results.',
    versioned: true,
    params: indexPath,
    query: purgeQuery,
    success: { status: 200, description: 'The deleted objects.', schema: IndexDeletion },
    errors: ['APPROVAL_REQUIRED', 'INDEX_NOT_FOUND'],
  },
  previewIndex: {
    method: 'POST',
    path: '/indices/{index_id}/preview',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary: 'Computes the composition of a stored definition on one date.',
    params: indexPath,
    body: { schema: PreviewRequest, optional: true, example: { as_of: '2020-06-19' } },
    success: { status: 200, description: 'The composition and its derivation.', schema: PreviewResponse },
    errors: [...asKnownErrors, 'INDEX_NOT_FOUND', 'RUN_NOT_FOUND', ...compositionErrors],
  },
  explainName: {
    method: 'GET',
    path: '/indices/{index_id}/explain/{identifier}',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary: 'Explains one weight.',
    description:
      'The explanation shows each step from the datapoints to the held weight: `raw / raw_total`, then `min(cap, max(floor, scale * uncapped_weight))`, over `stayed`, gives the applied weight. ' +
      '`entered`, `left` and `order` report later changes of the security. ' +
      'For a derived index, the explanation of the weight in the parent comes first (`derivation.source`). Every constraint that includes the security follows, with the bounds that determine the weight: `solved_weight * scale / stayed` is the applied weight.',
    params: defineObject(() => ({ index_id: Id, identifier: AssetIdentifier })),
    query: defineObject(() => ({
      as_of: IsoDate.optional().meta({
        description: 'Date of the explanation. Default: the latest date of the store.',
      }),
      run_id: definitionRun,
    })),
    success: { status: 200, description: 'The explanation.', schema: IndexExplanation },
    errors: ['INDEX_NOT_FOUND', 'RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'IDENTIFIER_NOT_FOUND', ...compositionErrors],
  },
  getMethodology: {
    method: 'GET',
    path: '/indices/{index_id}/methodology',
    scope: 'read',
    tag: 'indices',
    summary: 'Returns the definition in numbered English sentences.',
    params: indexPath,
    success: { status: 200, description: 'The methodology.', schema: Methodology },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  packRebalance: {
    method: 'POST',
    path: '/indices/{index_id}/rebalance-pack',
    onStore: 'query',
    scope: 'read',
    tag: 'indices',
    summary:
      'Computes the orders that align accounts with an index: shares, lots, costs, days to trade, capacity. Nothing is stored.',
    description:
      'JSON contains the whole pack. CSV, Arrow, Parquet and Excel (selected by `format` or by `Accept`) contain the orders of all accounts as a table.',
    params: indexPath,
    body: {
      schema: RebalancePackRequest,
      example: { accounts: [{ name: 'Fund', cash: 1_000_000 }], participation: 0.1 },
    },
    success: {
      status: 200,
      description: 'The orders by account.',
      schema: RebalancePack,
      media: FILE_MEDIA,
    },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'NO_DATA_AT_DATE', ...compositionErrors],
  },
});
