import type { LevelSketch } from '#contract/indices/preview.js';
import type { Methodology } from '#contract/indices/methodology.js';
import type { AsKnownOn } from '#domain/schema/as-known-on.js';
import type { z } from 'zod';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { DocumentQuestion, mergePatch, PlainQuestion, WhatIfQuestion } from '#domain/documents/index-questions.js';
import { assertDecides } from '#domain/checks/validate-overlay.js';
import { sortFindings } from '#domain/refusals/findings.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import type { RebalancePackRequest } from '#domain/rebalance-pack/pack-request.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { listMethodologySentences } from '#domain/rules/methodology.js';
import type { IndexSchedule } from '#domain/schedule/index-schedule.js';
import { checkShape } from '#domain/schema/shape.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { Markets } from '#market/serving/markets.js';
import { readHead } from '#store/history/history.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { readAdjustment } from '../stored/declared-adjustment.js';
import { requireIndex } from '../stored/stored-indices.js';
import {
  explainDefinition,
  type ExplainedDefinition,
  type ExplainedQuestion,
  type ExplainQuestion,
} from './explained-definitions.js';
import {
  createQuestionDefinitions,
  addVersion,
  type RequestBody,
  type QuestionDefinition,
  type Json,
  type QuestionDefinitionsDependencies,
} from './question-definitions.js';
import { formatSketch, limitHistory, SKETCH_POINTS } from './level-sketch.js';

/** Requests about definitions. They are answered at once and store nothing. */
export interface IndexQuestions {
  /**
   * Returns a PreviewResponse. @throws Refusal VALIDATION_FAILED, NO_DATA_SOURCE, EMPTY_INDEX, FX_MISSING, OVERLOADED
   */
  previewStored(indexId: string, request: () => PreviewTerms, signal: AbortSignal): Json;
  /** Returns a PreviewResponse of the document in the body. */
  previewDocument(body: RequestBody, signal: AbortSignal): Json;
  /** Returns the level of the document in the body for the last three years. @throws the refusals of a preview */
  sketchLevel(body: RequestBody, signal: AbortSignal): Promise<LevelSketch>;
  /** Returns a WhatIfResponse. @throws Refusal INDEX_NOT_FOUND, and the refusals of a preview */
  whatIf(body: RequestBody, signal: AbortSignal): Json;
  /**
   * Returns an IndexExplanation.
   * @throws Refusal INDEX_NOT_FOUND, IDENTIFIER_NOT_FOUND, NO_DATA_AT_DATE, and the refusals of a preview
   */
  explain(question: ExplainQuestion, signal: AbortSignal): Json;
  /**
   * Returns a RebalancePack, or its orders in a file format. @throws Refusal INDEX_NOT_FOUND, NO_DATA_AT_DATE, and the
   * refusals of a preview
   */
  rebalancePack(indexId: string, request: PackRequest, signal: AbortSignal): Json;
  /** Returns the methodology of an index in sentences. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  methodology(indexId: string): Promise<Methodology>;
}

interface PreviewTerms {
  readonly as_of: string | null;
  readonly run_id?: string | undefined;
  readonly as_known_on?: AsKnownOn | undefined;
}

export interface PackRequest {
  readonly request: RebalancePackRequest;
  readonly format: ExportFormat;
}

export interface IndexQuestionsDependencies extends QuestionDefinitionsDependencies {
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'servedAt'>;
  /** Returns the schedule of an index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  readonly computeSchedule: (document: IndexDocument) => Promise<Pick<IndexSchedule, 'called'>>;
}

export function createIndexQuestions(dependencies: IndexQuestionsDependencies): IndexQuestions {
  const { documents, jobs, markets, dataVersions, computeSchedule } = dependencies;
  const definitions = createQuestionDefinitions(dependencies);
  const { reached, checked, onMarket, onStore, onRun } = definitions;
  const explain = (definition: ExplainedDefinition, question: ExplainedQuestion, signal: AbortSignal): Json =>
    explainDefinition({ definitions, jobs, markets }, definition, question, signal);

  async function preview(definition: QuestionDefinition, terms: PreviewTerms, signal: AbortSignal): Json {
    const { document, version, ...all } = definition;
    const { handle, market } = await dataVersions.servedAt(terms.as_known_on);
    await onMarket(document, market);
    const question = { market: handle, ...all, indexId: document.id, asOf: terms.as_of };
    const { bytes } = await jobs.query('preview', question, signal);
    return addVersion(version, bytes);
  }

  return {
    async previewStored(indexId, request, signal) {
      const { document: storedIndex, version } = await definitions.now(indexId);
      const terms = request();
      if (terms.run_id !== undefined)
        return onRun(indexId, terms.run_id, (definition) => preview(definition, terms, signal));
      return onStore(storedIndex, async () => {
        const { document } = await checked(storedIndex);
        return preview({ document, version, ...(await reached(document)) }, terms, signal);
      });
    },
    async previewDocument(body, signal) {
      const { value, findings } = checkShape(DocumentQuestion, body);
      if (value === undefined) throw refuseWithFindings('body', findings);
      return onStore(value.document as RequestBody, async () => {
        const { document } = await checked(value.document as RequestBody);
        return preview({ document, version: null, ...(await reached(document)) }, value, signal);
      });
    },
    async sketchLevel(body, signal) {
      const { value, findings } = checkShape(PlainQuestion, body);
      if (value === undefined) throw refuseWithFindings('body', findings);
      return onStore(value.document as RequestBody, async () => {
        const { document } = await checked(value.document as RequestBody);
        const { handle, market } = markets.require();
        await onMarket(document, market);
        const { documents: all, ...others } = await reached(document);
        const question = { market: handle, documents: limitHistory(all, { subject: document.id, market }), ...others };
        const answer = await jobs.query(
          'sketch-level',
          { ...question, indexId: document.id, points: SKETCH_POINTS },
          signal,
        );
        return formatSketch(document.id, answer);
      });
    },
    async whatIf(body, signal) {
      const { value, findings } = checkShape(WhatIfQuestion, body);
      if (value === undefined) throw refuseWithFindings('body', findings);
      const base = value.index_id === null ? value.document! : (await requireIndex(documents, value.index_id)).document;
      return onStore(base as RequestBody, () => computeWhatIf(base as RequestBody, value, signal));
    },
    async explain({ indexId, identifier, asOf, runId }, signal) {
      const question = { indexId, identifier, asOf };
      if (runId !== undefined)
        return onRun(indexId, runId, (definition) => explain(definition, { ...question, isOfRun: true }, signal));
      const definition = await definitions.now(indexId);
      return onStore(definition.document, () => explain(definition, { ...question, isOfRun: false }, signal));
    },
    async rebalancePack(indexId, packRequest, signal) {
      const { document } = await requireIndex(documents, indexId);
      return onStore(document, async () => {
        assertDecides(document);
        const { handle, market } = markets.require();
        await checked(document);
        await onMarket(document, market);
        const version = (await readHead(documents, { kind: 'index', id: indexId }))?.latest ?? null;
        const { called } = await computeSchedule(document);
        const question = { market: handle, ...(await reached(document)), indexId, version, called, ...packRequest };
        const { bytes } = await jobs.query('rebalancePack', question, signal);
        return bytes;
      });
    },
    async methodology(indexId) {
      const { document } = await requireIndex(documents, indexId);
      const adjustment = await readAdjustment({ documents, markets }, document);
      return {
        index_id: indexId,
        name: document.name,
        sentences: listMethodologySentences(document, adjustment).map((sentence, i) => ({
          number: i + 1,
          ...sentence,
        })),
      };
    },
  };

  async function computeWhatIf(body: RequestBody, value: z.output<typeof WhatIfQuestion>, signal: AbortSignal): Json {
    const checkedIndex = (await checked(body)).document;
    assertDecides(checkedIndex);
    const after = await checked((value.changed ?? mergePatch(checkedIndex, value.patch)) as RequestBody);
    return onStore(after.document, async () => {
      const { handle, market } = await dataVersions.servedAt(value.as_known_on);
      await onMarket(checkedIndex, market);
      assertDecides(after.document);
      const warnings = sortFindings([...after.findings, ...(await onMarket(after.document, market))]);
      const createQuestion = async (document: IndexDocument) => ({
        ...(await reached(document)),
        indexId: document.id,
      });
      const change = {
        market: handle,
        before: await createQuestion(checkedIndex),
        after: await createQuestion(after.document),
        asOf: value.as_of,
        findings: warnings,
      };
      return (await jobs.query('whatIf', change, signal)).bytes;
    });
  }
}
