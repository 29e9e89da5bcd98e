import { createHash } from 'node:crypto';
import type { RiskModelImportResult } from '#contract/risk-model-imports.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { hasErrors, sortFindings, type Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { ImportTerms, ModelFileFormat } from '#domain/risk/imported/import-terms.js';
import type { StoredArtifact } from '#domain/risk/matrix-files.js';
import type { RiskModelDocument } from '#domain/risk/risk-model-document.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ImportedModelOutput, ImportRiskModelInput } from '#jobs/tasks/risk-models.js';
import { getLookup } from '#market/serving/market-lookup.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { createGate, type Requester } from '../shared/gate.js';
import { writeHashed } from '../shared/write-hashed.js';

export interface RiskModelImportsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'write'>;
  readonly jobs: Jobs;
  readonly markets: Pick<Markets, 'served'>;
}

/** Body of an import. */
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

export function createRiskModelImports({
  documents,
  artifacts,
  jobs,
  markets,
}: RiskModelImportsDependencies): RiskModelImports {
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
