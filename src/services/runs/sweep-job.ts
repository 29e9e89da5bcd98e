import { deserialize } from 'node:v8';
import { canonicalJson } from '#domain/json/canonical-json.js';
import { compareText } from '#domain/refusals/findings.js';
import type { VariantOutcome } from '#domain/sweeps/run-variants.js';
import type { Patch } from '#domain/sweeps/variants.js';
import type { SweepPayload } from '#domain/jobs/payloads.js';
import { jobKind, type JobKind } from '#jobs/job-kind.js';
import type { SweepPartOrder } from '#jobs/tasks/references.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { modelReferences, plannedFiles } from '../stored/used-models.js';
import { assertNotDeleted } from '../shared/jobs-about.js';

export interface SweepJobDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before'>;
  /** Threads of the pool. */
  readonly workers: number;
}

/** Variants of one task: a second or so of work, after which another job may have its turn. */
const VARIANTS_PER_PART = 8;
/** Share of the work after the variants have run. */
const SUMMING = 0.05;

/**
 * The kind of job that runs variants in parts and ranks them. Parts are as many at once as keep every thread busy; other
 * nodes compute some of them. What a variant gives depends on nothing but itself, so that the bits are the same wherever.
 */
export function createSweepJob({
  documents,
  artifacts,
  markets,
  dataVersions,
  workers,
}: SweepJobDependencies): JobKind<SweepPayload> {
  /** What a task needs to run some variants. */
  async function orderOf({ base, patches, documents: reached, models, data_version }: SweepPayload) {
    await markets.settled();
    const content = await dataVersions.at(data_version);
    const isAsKnown = base.request.as_known !== undefined || patches.some((patch) => '/request/as_known' in patch);
    const known = isAsKnown ? { known: await dataVersions.before(content.version) } : {};
    const references = modelReferences(models, await plannedFiles(documents, artifacts, models));
    const { identity: market } = content.served;
    return { market, base, documents: reached, ...references, ...known } satisfies Omit<SweepPartOrder, 'patches'>;
  }

  return jobKind(
    'sweep',
    async (payload, attempt) => {
      const { patches, stored_id: storedId } = payload;
      const order = await orderOf(payload);
      const parts = partsOf(patches);
      const patchesOf = (part: readonly number[]): Patch[] => part.map((variant) => patches[variant]!);
      const outcomesOfParts = await attempt.inParts<readonly VariantOutcome[]>({
        count: parts.length,
        atOnce: 2 * workers,
        share: 1 - SUMMING,
        here: async (part, share) =>
          (await attempt.compute('sweep-part', { ...order, patches: patchesOf(parts[part]!) }, share)).outcomes,
        read: (bytes, numbers) =>
          divided(
            deserialize(bytes),
            numbers.map((part) => parts[part]!.length),
          ),
      });
      const outcomes: VariantOutcome[] = [];
      for (const [part, variants] of parts.entries())
        variants.forEach((variant, i) => (outcomes[variant] = outcomesOfParts[part]![i]!));
      const { sweep_id: sweepId, base, rank_by: rankBy, partitions, folds, engine_version: engineVersion } = payload;
      const sum = { sweepId, indexId: base.document.id, rankBy, partitions, folds, patches, outcomes, engineVersion };
      const outputs = attempt.outputs(['view']);
      const { view } = await attempt.compute('sum-sweep', { ...sum, market: order.market, outputs }, SUMMING);
      return {
        result: { artifact: view },
        async effect(tx) {
          if (storedId) await assertNotDeleted(tx, storedId, 'sweep'); // Absent in sweeps that waited while an older version was replaced.
        },
      };
    },
    async (payload, numbers, attempt) => {
      const parts = partsOf(payload.patches);
      const patches = numbers.flatMap((part) => parts[part]!.map((variant) => payload.patches[variant]!));
      const outputs = attempt.outputs(['outcomes']);
      const { outcomes } = await attempt.compute('write-sweep-part', { ...(await orderOf(payload)), patches, outputs });
      return { result: { artifact: outcomes } };
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

/** A row in pieces of some lengths. */
function divided<T>(row: readonly T[], lengths: readonly number[]): T[][] {
  let start = 0;
  return lengths.map((length) => row.slice(start, (start += length)));
}
