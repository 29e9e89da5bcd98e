import { DatasetDocument } from '#domain/documents/dataset-document.js';
import { sortFindings } from '#domain/refusals/findings.js';
import type { Attempt, Completion } from '#jobs/job-kind.js';
import { runMarketTask } from '#market/process/market-process.js';
import { prepareServedMarket } from '#market/serving/served-markets.js';
import { GENERATOR } from '#market/synthetic/spec.js';
import { summariseServed } from './served-content.js';
import { countRows } from './activate.js';
import { recordCopy, recordDataVersion } from '../stored/data-history.js';
import { purgeDataVersions } from './purge-versions.js';
import { requireDataset } from '../stored/dataset-documents.js';
import { createLoadedFields, recordFailure } from './loading.js';
import { assertAccepted } from './rejected-refresh.js';
import { createSyntheticSpec } from './synthetic-dataset.js';
import type { GenerateRequest, RefreshPayload } from '#domain/jobs/payloads.js';
import type { DatasetJobsDependencies } from './job-terms.js';

/** Creates the function that adds later sessions to a synthetic market. */
export function createExtension(dependencies: DatasetJobsDependencies) {
  const { markets, activations, loading, folders, files, calendars, calendarsInUse, versions, timestamp } =
    dependencies;

  /** Generates the same market with more sessions at the end. The earlier bars do not change. */
  async function extendSynthetic(
    document: DatasetDocument,
    { store_id: datasetId, until, dry_run: isTrial, fail_on: failOn }: RefreshPayload,
    attempt: Attempt,
  ): Promise<Completion> {
    const request = document.synthetic!['request'] as GenerateRequest; // this engine wrote the request, for the synthetic generator
    const lastDay = until ?? timestamp().slice(0, 10);
    const end = lastDay > document.end! ? lastDay : document.end!;
    const currentMarket = markets.served();
    const isServed = currentMarket?.handle.datasetId === datasetId;
    const servedMarket = isServed ? currentMarket : (await createUnchangedVersion(document, attempt)).served!;
    const folder = await folders.create(datasetId);
    try {
      const outcome = await readGenerated(document, { ...request, end }, { folder, attempt });
      const { report, warnings, newWarnings } = await attempt.compute(
        'refresh-market',
        {
          held: servedMarket.handle,
          fresh: outcome.handle!,
          options: { until: null, full: true, isWhole: true },
          calendars: await calendarsInUse(datasetId),
        },
        0.2,
      );
      const findings = sortFindings([...report.findings, ...newWarnings]);
      assertAccepted(findings, failOn);
      const result = { value: { store_id: datasetId, dry_run: isTrial, ...report, findings } };
      if (isTrial) {
        await folders.remove(folder, datasetId);
        return { result };
      }
      const currentTimestamp = timestamp();
      const changes: Partial<DatasetDocument> = {
        ...createLoadedFields({ ...outcome.summary, warnings }, currentTimestamp),
        last_refreshed_at: currentTimestamp,
        location: folder,
        ...(await files.keep(folder)),
        synthetic: { generator: GENERATOR, request: { ...request, end } },
      };
      const next = isServed ? await prepareServedMarket(outcome.handle!, currentTimestamp) : undefined;
      const version =
        next === undefined ? null : await versions.prepare(next, { source: 'synthetic', kind: 'synthetic' });
      const preservedContent = next === undefined ? await versions.preserve(datasetId, async () => servedMarket) : null;
      if (next !== undefined) await activations.prepare(next);
      return {
        result,
        async effect(tx) {
          const { document: storedDocument } = await requireDataset(tx, datasetId);
          await tx.put('store', datasetId, {
            ...storedDocument,
            ...changes,
            ...(next === undefined ? {} : summariseServed(next)),
          });
          if (preservedContent !== null) await recordCopy(tx, preservedContent);
          if (version !== null) {
            await recordDataVersion(tx, version, countRows({ rows: outcome.summary.rows }));
            await purgeDataVersions(tx, version.datasetId);
          }
          if (next !== undefined && storedDocument.active) await activations.activate(tx, next);
          if (document.location !== null)
            tx.publish({ type: 'folder-replaced', store_id: datasetId, folder: document.location });
        },
      };
    } catch (failure) {
      await folders.remove(folder, datasetId);
      throw failure;
    }
  }

  async function readGenerated(
    { store_id: datasetId, adjustment, currency }: DatasetDocument,
    request: GenerateRequest,
    { folder, attempt }: { readonly folder: string; readonly attempt: Attempt },
  ) {
    const result = await runMarketTask(
      'generate',
      { spec: createSyntheticSpec(request, calendars), folder },
      {
        load: { datasetId, adjustment, currency },
        onProgress: (fraction, message) => attempt.report(0.8 * fraction, message),
        signal: attempt.signal,
      },
    );
    if (result.kind === 'refused') throw recordFailure(result.findings, 'location');
    return result;
  }

  async function createUnchangedVersion(document: DatasetDocument, attempt: Attempt) {
    const loadOutcome = await loading.read(document, { serve: true, signal: attempt.signal });
    if (loadOutcome.kind === 'refused') throw recordFailure(loadOutcome.findings, 'location');
    return loadOutcome;
  }

  return extendSynthetic;
}
