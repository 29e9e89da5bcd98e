import { listClosures } from '#domain/calendars/closures.js';
import { serialize } from 'node:v8';
import { createSparseMemory } from '#domain/books/sparse-room.js';
import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import { parseAcceptedIndex } from '#domain/checks/validate-index.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { createSharedDecisions } from '#domain/rules/shared-decisions.js';
import { runVariants, type VariantOutcome } from '#domain/sweeps/run-variants.js';
import { createSweepTable } from '#domain/sweeps/sweep-table.js';
import { checkVariant } from '#domain/sweeps/variant-needs.js';
import { applyPatch, countVariants, type Patch, type PatchedVariant, type Variant } from '#domain/sweeps/variants.js';
import type { Task } from '#jobs/tasks.js';
import type { SweepPartInput } from '#jobs/tasks/runs.js';
import type { MarketData } from '#domain/market/market-data.js';
import { createJsonWriter } from '#views/json-writer.js';
import { createSweepRow, createSweepView } from '#views/sweep-view.js';
import { runOnEngine } from '../input/numerics.js';
import { openEarlierContents } from '../input/known-contents.js';
import { openCachedMarket } from '../input/open-markets.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openModels } from '../input/opened-models.js';
import { writeRowsInBlocks } from '../output/rows-in-blocks.js';
import { copyOutput, writeOutputs } from '../output/task-outputs.js';
import { openOutcomes } from './outcome-files.js';

/**
 * Maximum memory in bytes that a thread keeps for the weights of further variants. 500 securities over ten years take
 * 11 MB.
 */
const SPARSE_MEMORY_BYTES_MAX = 64 * 2 ** 20;

/** Memory of this thread, which runs one task at a time. */
let sparseMemory = createSparseMemory();

/** Decisions that the variants of this thread share. Definitions of consecutive parts are similar. */
const sharedDecisions = createSharedDecisions();

/** Runs some of the variants of a sweep. */
export const sweepPart: Task<'sweep-part'> = async ({ outputs, ...input }, control) => {
  const outcomes = await runOnEngine((engine) => {
    const market = openCachedMarket(input.market);
    const variants = input.patches.map(createVariants(input, market));
    const acceptedVariants = variants.filter((variant): variant is Variant => !('kind' in variant));
    try {
      const variantOutcomes = runVariants({
        market,
        calendars: openCachedCalendars(listClosures(createGround(input))),
        variants: acceptedVariants,
        documents: input.documents,
        models: openModels(input.models),
        ...openEarlierContents(market, input.known),
        createDecider: createIndexDeciders(engine, sharedDecisions),
        room: sparseMemory,
        report: (fraction) => control.report(fraction, 'running variants'),
      });
      let next = 0;
      return variants.map((variant): VariantOutcome => ('kind' in variant ? variant : variantOutcomes[next++]!));
    } finally {
      sharedDecisions.makeRoom();
      if (sparseMemory.bytes() > SPARSE_MEMORY_BYTES_MAX) sparseMemory = createSparseMemory();
    }
  });
  return writeOutputs(outputs, { outcomes: copyOutput(serialize(outcomes)) });
};

/** Returns the documents that variants refer to, including the document that they change. */
const createGround = ({
  base,
  documents,
}: Pick<SweepPartInput, 'base' | 'documents'>): SweepPartInput['documents'] => ({
  ...documents,
  [base.document.id]: base.document,
});

/** Converts each patch to a variant that can run, or to a refusal. */
function createVariants(
  { base, documents, models, areChecked }: Omit<SweepPartInput, 'outputs'>,
  market: MarketData,
): (patch: Patch) => Variant | Extract<VariantOutcome, { kind: 'refused' }> {
  const reachedGround = createGround({ base, documents });
  const ground = {
    market,
    calendars: openCachedCalendars(listClosures(reachedGround)),
    documents: reachedGround,
    models: new Set(Object.keys(models ?? {})),
  };
  const accept = (body: unknown) => ({ document: parseAcceptedIndex(body), findings: [] });
  const check = (patch: Patch): PatchedVariant =>
    areChecked ? applyPatch(base, patch, { path: '', check: accept }) : checkVariant(base, patch, ground);
  return (patch) => {
    const { variant, findings } = check(patch);
    if (variant !== undefined) return variant;
    if (areChecked)
      throw new Error(
        `a variant that passed its check does not apply: ${findings.map(({ message }) => message).join(' ')}`,
      );
    return { kind: 'refused', error: refuseWithFindings('variant', findings).toDetail() };
  };
}

/** Ranks all variants: a SweepView as JSON, and its rows in blocks. */
export const sumSweep: Task<'sum-sweep'> = async (
  { sweepId, indexId, rankBy, partitions, folds, variation, files, market, engineVersion, outputs },
  control,
) => {
  const tick = (fraction: number) => control.report(fraction, 'assessing the selection');
  const outcomes = openOutcomes(files, variation);
  const table = await runOnEngine((engine) => createSweepTable({ outcomes, rankBy, partitions, folds, engine, tick }));
  const json = createJsonWriter();
  json.value(
    createSweepView({
      sweepId,
      indexId,
      rankBy,
      variation,
      table,
      storeContentHash: openCachedMarket(market).contentHash,
      engineVersion,
    }),
  );
  const rows = writeRowsInBlocks(countVariants(variation), (i) => createSweepRow(table.rows[i]!, variation));
  const { view, rows: artifact } = await writeOutputs(outputs, {
    view: copyOutput(json.bytes()),
    rows: copyOutput(rows.bytes),
  });
  return { view, rows: { artifact, ...rows.index } };
};
