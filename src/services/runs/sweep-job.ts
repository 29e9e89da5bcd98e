import type { SweepPayload } from '#domain/jobs/payloads.js';
import { orderSweepParts, type SweepParts } from '#domain/sweeps/part-order.js';
import { createPatch, type Patch, type Variation } from '#domain/sweeps/variants.js';
import { createJobKind, type JobKind } from '#jobs/job-kind.js';
import type { TaskInput } from '#jobs/tasks.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { createModelReferences, findPlannedFiles } from '../stored/used-models.js';
import { assertNotDeleted } from '../shared/jobs-about.js';

export interface SweepJobDependencies {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before'>;
  /** Number of threads of the pool. */
  readonly workers: number;
}

/** Share of the progress that remains after all variants have run. */
const SUMMING = 0.05;

/**
 * Creates the kind of job that runs sweeps. It has enough parts to keep every thread busy, and other nodes can compute
 * parts. A result depends only on its variant, so all nodes compute bit-identical results.
 */
export function createSweepJob({
  documents,
  artifacts,
  markets,
  dataVersions,
  workers,
}: SweepJobDependencies): JobKind<SweepPayload> {
  const listParts = createPartsReader();

  /** Returns the input of a task that runs some of the variants. */
  async function createOrder(payload: SweepPayload): Promise<Omit<TaskInput<'sweep-part'>, 'patches' | 'outputs'>> {
    const { base, documents: reachedDocuments, models, data_version } = payload;
    await markets.settled();
    const content = await dataVersions.at(data_version);
    const knownTerms = hasDatedData(payload) ? { known: await dataVersions.before(content.version) } : {};
    const references = createModelReferences(models, await findPlannedFiles(documents, artifacts, models));
    const { identity: market } = content.served;
    return {
      market,
      base,
      documents: reachedDocuments,
      ...references,
      ...knownTerms,
      areChecked: !payload.is_unchecked,
    };
  }

  const listPatches = (payload: SweepPayload, part: number): Patch[] =>
    listParts(payload)
      .variants(part)
      .map((variant) => createPatch(payload, variant));

  return createJobKind(
    'sweep',
    async (payload, attempt) => {
      const { stored_id: storedId } = payload;
      const order = await createOrder(payload);
      const writtenParts = await attempt.inParts({
        count: listParts(payload).count,
        atOnce: 2 * workers,
        share: 1 - SUMMING,
        async here(part, share) {
          const outputs = attempt.outputs(['outcomes']);
          const patches = listPatches(payload, part);
          return (await attempt.compute('sweep-part', { ...order, patches, outputs }, share)).outcomes;
        },
      });
      const files = writtenParts.map(({ artifact: { name, sha256 }, parts }) => ({ artifact: name, sha256, parts }));
      const { sweep_id: sweepId, base, rank_by: rankBy, partitions, folds, engine_version: engineVersion } = payload;
      const variation = createVariation(payload);
      const sum = { sweepId, indexId: base.document.id, rankBy, partitions, folds, variation, files, engineVersion };
      const outputs = attempt.outputs(['view', 'rows']);
      const { view, rows } = await attempt.compute('sum-sweep', { ...sum, market: order.market, outputs }, SUMMING);
      return {
        result: { artifact: view, rows },
        async effect(tx) {
          if (storedId) await assertNotDeleted(tx, storedId, 'sweep'); // absent in sweeps that waited while an older version was replaced
        },
      };
    },
    async (payload, numbers, attempt) => {
      const patches = numbers.flatMap((part) => listPatches(payload, part));
      const outputs = attempt.outputs(['outcomes']);
      const { outcomes } = await attempt.compute('sweep-part', { ...(await createOrder(payload)), patches, outputs });
      return { result: { artifact: outcomes } };
    },
  );
}

const createVariation = ({ grid, patches }: SweepPayload): Variation => ({ grid, patches });

/** Returns true if some variants make decisions on data as it was known at the time. */
function hasDatedData({ base, grid, patches }: SweepPayload): boolean {
  const pointer = '/request/as_known';
  const isVaried = grid === null ? patches?.some((patch) => pointer in patch) === true : pointer in grid;
  return base.request.as_known !== undefined || isVaried;
}

/** @returns a function that returns the parts of a payload and caches them */
function createPartsReader(): (payload: SweepPayload) => SweepParts {
  const partsByPayload = new WeakMap<SweepPayload, SweepParts>();
  return (payload) => {
    const parts = partsByPayload.get(payload) ?? orderSweepParts(createVariation(payload));
    partsByPayload.set(payload, parts);
    return parts;
  };
}
