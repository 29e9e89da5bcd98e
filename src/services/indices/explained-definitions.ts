import { assertDecides } from '#domain/checks/validate-overlay.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { Markets } from '#market/serving/markets.js';
import { addVersion, type QuestionDefinition, type Json, type QuestionDefinitions } from './question-definitions.js';

export interface ExplainQuestion {
  readonly indexId: string;
  readonly identifier: string;
  readonly asOf: string | undefined;
  /** Id of the run with the definition to explain. Default: the stored definition. */
  readonly runId: string | undefined;
}

/** Definition of a run or of a stored index. For a stored index, the other documents are read afterwards. */
export type ExplainedDefinition = Pick<QuestionDefinition, 'document' | 'version'> & Partial<QuestionDefinition>;

export type ExplainedQuestion = Omit<ExplainQuestion, 'runId'> & { readonly isOfRun: boolean };

interface ExplanationDependencies {
  readonly definitions: QuestionDefinitions;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: Markets;
}

/** Explains a definition on the served market. Returns an IndexExplanation. */
export async function explainDefinition(
  { definitions, jobs, markets }: ExplanationDependencies,
  definition: ExplainedDefinition,
  { indexId, identifier, asOf, isOfRun }: ExplainedQuestion,
  signal: AbortSignal,
): Json {
  const { document, version } = definition;
  assertDecides(document);
  const { handle, market } = markets.require();
  if (!market.identifiers.includes(identifier))
    throw new Refusal('IDENTIFIER_NOT_FOUND', `The data store ${market.datasetId} does not hold ${identifier}.`, {
      identifier,
    });
  if (!isOfRun) await definitions.checked(document);
  await definitions.onMarket(document, market);
  const { documents: reachedDocuments, models } =
    definition.documents === undefined
      ? await definitions.reached(document)
      : { documents: definition.documents, models: definition.models };
  const question = {
    market: handle,
    documents: reachedDocuments,
    ...(models === undefined ? {} : { models }),
    indexId,
    identifier,
    asOf: asOf ?? null,
  };
  const { bytes } = await jobs.query('explain', question, signal);
  return addVersion(version, bytes);
}
