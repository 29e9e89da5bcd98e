import { createHash } from 'node:crypto';
import type { RiskModelImportResult } from '#contract/risk-models.js';
import { type Finding, hasErrors, sortFindings } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { locateParts } from '#domain/base/numbers.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import { reportUnreadFields } from '#domain/definition/optimisation.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { RiskModelPayload, RiskValidationPayload } from '#domain/outputs/jobs.js';
import {
  assertFewSecurities,
  EIGENVALUES_PART,
  hasPanelForm,
  PART_COUNT,
  SINGLE_THREAD_SECURITIES_MAX,
} from '#domain/risk/estimation.js';
import type { ImportTerms, ModelFileFormat } from '#domain/risk/model-terms.js';
import type { MatrixFiles, RiskModelDocument, StoredArtifact } from '#domain/risk/risk-models.js';
import { describeExclusion } from '#domain/risk/return-panel.js';
import { type Attempt, type Completion, createJobKind, type JobKind } from '#jobs/port/job-kind.js';
import type { PartOutput, WrittenParts } from '#jobs/port/queue.js';
import type { PortableTaskName, RiskUniverseOrder, TaskInput } from '#jobs/tasks/catalogue.js';
import type { ImportedModelOutput, ImportRiskModelInput, RiskModelOutput } from '#jobs/tasks/indices.js';
import { getLookup } from '#market/serve/served-markets.js';
import type { ArtifactRef } from '#store/port.js';
import type { Context } from '../shared/context.js';
import { writeHashed } from '../shared/documents.js';
import { createGate, type Requester } from '../shared/gate.js';
import { getColumns, requireUndamagedRun } from '../shared/run-documents.js';

export type ImportedModelBody =
  | { readonly kind: 'json'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'file';
      readonly format: ModelFileFormat;
      readonly terms: ImportTerms;
      readonly date: string | null;
      readonly bytes: AsyncIterable<Uint8Array>;
    };

export interface RiskModelImports {
  /**
   * Stores an imported model. If a model has the same id, it is replaced.
   * @throws Refusal VALIDATION_FAILED, MALFORMED_REQUEST, BODY_TOO_LARGE, OVERLOADED, RATE_LIMITED, STORAGE_FULL
   */
  importModel(modelId: string, body: ImportedModelBody, author: ImportAuthor): Promise<RiskModelImportResult>;
}

export interface ImportAuthor {
  readonly asker: Requester;
  readonly by: Authorship;
}

/** Limits on concurrent imports. Each import holds its body and its matrices in memory. */
const IMPORTS = {
  name: 'imports of risk models',
  runningMax: 2,
  waitingMax: 4,
  clientRunningMax: 1,
  clientWaitingMax: 2,
};

export function createRiskModelImports({ documents, artifacts, jobs, markets }: Context): RiskModelImports {
  const gate = createGate(IMPORTS);

  async function createDocument(modelId: string, read: readonly Finding[], model: ImportedModelOutput) {
    const covariance = await writeHashed(artifacts, model.covariance.bytes);
    const factors = model.factors && (await writeHashed(artifacts, model.factors.bytes));
    const servedMarket = markets.served();
    const findings = [...read, ...checkCoverage(model.assetIds, servedMarket?.market)];
    if (hasErrors(findings)) throw refuseWithFindings('risk model', findings);
    return toDocument({
      modelId,
      model,
      covariance,
      factors,
      findings,
      storeHash: servedMarket?.identity.contentHash ?? '',
    });
  }

  return {
    importModel: async (modelId, body, { asker, by }) =>
      gate(async () => {
        const source = await readSource(body);
        const { model, findings } = await jobs.query('import-risk-model', { source }, asker.signal);
        if (model === null) throw refuseWithFindings('risk model', findings);
        const document = await createDocument(modelId, findings, model);
        await documents.transaction(async (tx) => void (await tx.put('risk-model', modelId, document)), { by });
        return toImportResult(document);
      }, asker),
  };
}

async function readSource(body: ImportedModelBody): Promise<ImportRiskModelInput['source']> {
  if (body.kind === 'json') return body;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body.bytes) chunks.push(chunk);
  return { ...body, bytes: Buffer.concat(chunks) };
}

interface ImportedRiskModel {
  readonly modelId: string;
  readonly model: ImportedModelOutput;
  readonly covariance: StoredArtifact;
  readonly factors: StoredArtifact | null;
  readonly findings: readonly Finding[];
  readonly storeHash: string;
}

function toDocument({
  modelId,
  model,
  covariance,
  factors,
  findings,
  storeHash,
}: ImportedRiskModel): RiskModelDocument {
  const { assetIds, terms, dates, factorModel, newest } = model;
  const last = dates.at(-1)!; // a model has at least one date
  const content = toCanonicalJson({
    asset_ids: assetIds,
    dates: dates.map(({ date }) => date),
    covariance: covariance.sha256,
  });
  return {
    model_id: modelId,
    asset_ids: [...assetIds],
    diagnostics: {
      assets: last.assets,
      observations: 0,
      average_correlation: newest.averageCorrelation,
      condition_number: newest.conditionNumber,
      intensity: null,
      positive_semi_definite: true,
      repaired: last.repaired,
      smallest_eigenvalue: newest.smallestEigenvalue,
      target: null,
    },
    ...(factorModel === null ? {} : { factor_model: factorModel }),
    imported: { ...terms, dates: [...dates] },
    findings: [...sortFindings(findings)],
    excluded: {},
    observed_start: dates[0]!.date,
    observed_end: last.date,
    content_hash: createHash('sha256').update(content).digest('hex'),
    precision: 'float64',
    store_content_hash: storeHash,
    covariance,
    ...(factors === null ? {} : { factors }),
  };
}

function toImportResult({
  model_id,
  asset_ids,
  imported,
  findings,
  factor_model: factorModel,
  content_hash,
}: RiskModelDocument) {
  return {
    model_id,
    assets: asset_ids.length,
    factors: factorModel?.factors.map(({ factor }) => factor) ?? [],
    imported: imported!, // an imported document has these members
    content_hash,
    findings: [...findings!],
  } as RiskModelImportResult; // findings of the domain are returned unchanged
}

/** Maximum number of securities that a finding lists. */
const LISTED_MAX = 10;

/**
 * Reports securities that have no prices in the data store. If none of the securities has prices, this is an error.
 */
function checkCoverage(assetIds: readonly string[], market: MarketData | undefined): Finding[] {
  if (market === undefined) return [];
  const lookup = getLookup(market);
  const unknownIdentifiers = assetIds.filter((identifier) => lookup.positionOf(identifier) === undefined);
  if (unknownIdentifiers.length === 0) return [];
  const list = unknownIdentifiers.slice(0, LISTED_MAX);
  const isUncovered = unknownIdentifiers.length === assetIds.length;
  const omissionNote =
    unknownIdentifiers.length > LISTED_MAX ? ` and ${unknownIdentifiers.length - LISTED_MAX} more` : '';
  const message = `The data store ${market.datasetId} has no prices of ${isUncovered ? 'any' : unknownIdentifiers.length} of the ${assetIds.length} securities: ${list.join(', ')}${omissionNote}.`;
  const finding = {
    code: 'UNKNOWN_IDENTIFIER',
    path: 'models',
    message,
    count: unknownIdentifiers.length,
    places: list,
  } as const;
  return [{ severity: isUncovered ? 'error' : 'warning', ...finding }];
}

type RiskModelOrder = TaskInput<'risk-model-size'>;

type RiskAttempt = Attempt<PortableTaskName>;

/** Share of the progress that remains after all parts of a model are computed. */
const SUMMING = 0.02;

/**
 * Creates the kind of job that estimates risk models. The transaction that ends the job replaces the model. The matrix
 * of a large model is computed in parts, and other nodes can compute parts; the result is bit-identical to the result
 * of one thread. Each part is one file of the matrix. No other node reads it.
 * @param wholeMax maximum number of securities for which one thread estimates the whole model
 */
export function createRiskModelJob(
  context: Context,
  wholeMax = SINGLE_THREAD_SECURITIES_MAX,
): JobKind<RiskModelPayload> {
  const { markets, dataVersions, workers } = context;

  async function resolveUniverse({ identifiers, run }: RiskModelPayload): Promise<RiskUniverseOrder> {
    if (identifiers !== null) return { kind: 'names', identifiers };
    const { run_id, ...terms } = run!; // the request has either securities or a run
    return { kind: 'run', columns: getColumns(await requireUndamagedRun(context, run_id)), ...terms };
  }

  async function createOrder(payload: RiskModelPayload): Promise<RiskModelOrder> {
    await markets.settled(); // An estimate that the previous process left waits until the data is loaded.
    const { identity: market } = (await dataVersions.at(payload.data_version)).served;
    return { market, universe: await resolveUniverse(payload), request: payload.request };
  }

  /**
   * Returns true if a model is estimated in parts. This applies to large models whose rows can be computed separately.
   */
  async function isInParts(payload: RiskModelPayload, order: RiskModelOrder, attempt: RiskAttempt): Promise<boolean> {
    if (!hasPanelForm(order.request.estimator)) return false;
    const namesMax = payload.identifiers?.length ?? markets.require().market.identifiers.length;
    if (namesMax <= wholeMax) return false;
    const { securities } = await attempt.compute('risk-model-size', order, 0);
    assertFewSecurities(securities, 'index_id');
    return securities > wholeMax;
  }

  async function estimateInParts(order: RiskModelOrder, attempt: RiskAttempt): Promise<RiskModelOutput> {
    const writtenParts = await attempt.inParts({
      count: PART_COUNT,
      atOnce: 2 * workers,
      share: 1 - SUMMING,
      here: (part, share) => readOutput(order, [part], { attempt, share }),
    });
    const { covariance, unused } = joinRows(writtenParts);
    if (unused.length > 0) await attempt.drop(unused.map(({ name }) => name));
    const files = writtenParts.map(({ artifact: { name, sha256 }, parts }) => ({ artifact: name, sha256, parts }));
    const outputs = attempt.outputs(['factors']);
    return attempt.compute('sum-risk-model', { ...order, covariance, files, outputs }, SUMMING);
  }

  async function estimate(payload: RiskModelPayload, order: RiskModelOrder, attempt: RiskAttempt) {
    if (await isInParts(payload, order, attempt)) return estimateInParts(order, attempt);
    return attempt.compute('estimate-risk-model', { ...order, outputs: attempt.outputs(['covariance', 'factors']) });
  }

  async function run(payload: RiskModelPayload, attempt: RiskAttempt): Promise<Completion> {
    const order = await createOrder(payload);
    const output = await estimate(payload, order, attempt);
    const document: RiskModelDocument = {
      model_id: payload.model_id,
      asset_ids: [...output.assetIds],
      diagnostics: output.diagnostics,
      ...(output.factorModel === null ? {} : { factor_model: output.factorModel }),
      request: payload.request,
      excluded: { ...output.excluded },
      observed_start: output.observedStart,
      observed_end: output.observedEnd,
      content_hash: output.contentHash,
      precision: output.precision,
      store_content_hash: order.market.contentHash,
      store_id: order.market.datasetId,
      covariance: output.covariance,
      ...(output.factors === null ? {} : { factors: output.factors }),
    };
    return {
      result: { value: document },
      message: formatMessage(payload, document),
      async effect(tx) {
        await tx.put('risk-model', payload.model_id, document);
      },
    };
  }

  return createJobKind('risk', run, async (payload, parts, attempt) => ({
    result: await readOutput(await createOrder(payload), parts, { attempt, share: 1 }),
  }));
}

/** Computes some parts of a model. @param share share of the job's progress that these parts account for */
async function readOutput(
  order: RiskModelOrder,
  parts: readonly number[],
  { attempt, share }: { readonly attempt: RiskAttempt; readonly share: number },
): Promise<PartOutput> {
  const outputs = attempt.outputs(['figures', ...parts.filter(hasRows).map((part) => `rows ${part}` as const)]);
  const { figures, rows } = await attempt.compute('risk-model-parts', { ...order, parts, outputs }, share);
  return { artifact: figures, files: rows };
}

const hasRows = (part: number): boolean => part !== EIGENVALUES_PART;

/**
 * Returns the files of the rows in order. Also returns files that are not needed, because other outputs contain the
 * same rows.
 */
function joinRows(writtenParts: readonly WrittenParts[]): {
  readonly covariance: MatrixFiles;
  readonly unused: readonly ArtifactRef[];
} {
  const rows = writtenParts.map(({ parts, files = [] }) => ({ parts: parts.filter(hasRows), files }));
  const { first, others } = locateParts(rows);
  const getFileAt = ({ output, at }: (typeof first)[number]): ArtifactRef => rows[output]!.files[at]!;
  const files = first.map(getFileAt);
  const hash = createHash('sha256').update(files.map(({ sha256 }) => sha256).join(''));
  return { covariance: { sha256: hash.digest('hex'), files }, unused: others.map(getFileAt) };
}

/** Returns the summary of a finished estimate. */
function formatMessage(
  { request }: RiskModelPayload,
  { asset_ids: assetIds, excluded, diagnostics }: RiskModelDocument,
): string {
  return [
    `${assetIds.length} ${assetIds.length === 1 ? 'security' : 'securities'}, ${diagnostics.observations} observations.`,
    ...reportUnreadFields(request).map(({ message }) => message),
    describeExclusion(new Map(Object.entries(excluded))),
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

/**
 * Creates the kind of job that compares the past forecasts of a risk model with the actual risk. The job stores only
 * its result.
 */
export function createRiskValidationJob(context: Context): JobKind<RiskValidationPayload> {
  const { markets, dataVersions } = context;
  return createJobKind(
    'validate',
    async ({ model_id: modelId, model, request, terms, index_id, data_version }, attempt) => {
      await markets.settled();
      const { identity } = await dataVersions.servedAt(data_version);
      const { view, message } = await attempt.compute('validate-risk-model', {
        market: identity,
        modelId,
        identifiers: model.asset_ids,
        terms,
        settings: model.request,
        request,
        run:
          index_id === null
            ? null
            : { indexId: index_id, columns: getColumns(await requireUndamagedRun(context, index_id)) },
        outputs: attempt.outputs(['view']),
      });
      return { result: { artifact: view }, message };
    },
  );
}
