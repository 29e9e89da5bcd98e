import { canonicalJson } from '#domain/canonical-json.js';
import { compareText } from '#domain/findings.js';
import type { VariantOutcome } from '#domain/sweeps/run-variants.js';
import type { Patch } from '#domain/sweeps/variants.js';
import type { SweepPayload } from '#domain/jobs/payloads.js';
import { jobKind, type JobKind } from '#jobs/job-kind.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { modelReferences, plannedFiles } from '../risk/used-models.js';
import { assertNotDeleted } from '../shared/jobs-about.js';

export interface SweepJobDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before'>;
  /** Threads of the pool. */
  readonly workers: number;
}

/** Variants of one task: a second or so of work, after which another job may have its turn. */
const VARIANTS_PER_PART = 8;
/** Share of the work after the variants have run. */
const SUMMING = 0.05;

/** The kind of job that runs variants in parts and ranks them. Parts are as many at once as keep every thread busy. */
export function createSweepJob({
  documents: stored,
  markets,
  dataVersions,
  workers,
}: SweepJobDependencies): JobKind<SweepPayload> {
  return jobKind(
    'sweep',
    async (
      {
        sweep_id: sweepId,
        stored_id: storedId,
        base,
        patches,
        documents,
        models,
        rank_by: rankBy,
        partitions,
        folds,
        data_version: dataVersion,
        engine_version: engineVersion,
      },
      attempt,
    ) => {
      await markets.settled();
      const content = await dataVersions.at(dataVersion);
      const { identity: market } = content.served;
      const isAsKnown = base.request.as_known !== undefined || patches.some((patch) => '/request/as_known' in patch);
      const known = isAsKnown ? { known: await dataVersions.before(content.version) } : {};
      const references = modelReferences(models, await plannedFiles(stored, models));
      const outcomes: VariantOutcome[] = [];
      const parts = partsOf(patches);
      const runParts = async (): Promise<void> => {
        for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
          const share = ((1 - SUMMING) * part.length) / patches.length;
          const done = await attempt.compute(
            'sweep-part',
            { market, base, documents, ...references, ...known, patches: part.map((variant) => patches[variant]!) },
            share,
          );
          part.forEach((variant, i) => (outcomes[variant] = done.outcomes[i]!));
        }
      };
      await Promise.all(Array.from({ length: 2 * workers }, runParts));
      const { view } = await attempt.compute(
        'sum-sweep',
        {
          sweepId,
          indexId: base.document.id,
          rankBy,
          partitions,
          folds,
          patches,
          outcomes,
          market,
          engineVersion,
          outputs: attempt.outputs(['view']),
        },
        SUMMING,
      );
      return {
        result: { artifact: view },
        async effect(tx) {
          if (storedId) await assertNotDeleted(tx, storedId, 'sweep'); // Absent in sweeps that waited while an older version was replaced.
        },
      };
    },
  );
}

/** Variants of each part; those with the same definition lie beside each other, so that it is decided once. */
function partsOf(patches: readonly Patch[]): number[][] {
  const definitions = patches.map((patch) =>
    canonicalJson(Object.fromEntries(Object.entries(patch).filter(([pointer]) => pointer.startsWith('/document/')))),
  );
  const order = [...patches.keys()].toSorted((a, b) => compareText(definitions[a]!, definitions[b]!) || a - b);
  return Array.from({ length: Math.ceil(order.length / VARIANTS_PER_PART) }, (_, part) =>
    order.slice(part * VARIANTS_PER_PART, (part + 1) * VARIANTS_PER_PART),
  );
}
