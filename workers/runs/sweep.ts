import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { createSparseMemory } from '#domain/books/book.js';
import { listClosures } from '#domain/calendars/calendar.js';
import { createSharedDecisions } from '#domain/decide/shared-decisions.js';
import { parseAcceptedIndex } from '#domain/definition/index-validation.js';
import type { MarketData } from '#domain/market/market-data.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import { type OutcomeSource, runVariants, type VariantOutcome } from '#domain/studies/sweep-runs.js';
import { createSweepTable } from '#domain/studies/sweep-table.js';
import {
  applyPatch,
  countVariants,
  orderSweepParts,
  type Patch,
  type PatchedVariant,
  type Variant,
  type Variation,
} from '#domain/studies/sweep.js';
import { checkVariant } from '#domain/studies/variant-checks.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { OutcomesFile, SweepPartInput } from '#jobs/tasks/runs.js';
import { createJsonWriter } from '#views/json/writer.js';
import { createSweepRow, createSweepView } from '#views/studies.js';
import { openCachedCalendars, openCachedMarket, openEarlierContents } from '../input/markets.js';
import { runOnEngine } from '../input/numerics.js';
import { openModels } from '../input/risk-models.js';
import { copyOutput, writeOutputs, writeRowsInBlocks } from '../output/task-outputs.js';

/**
 * Reads outcomes from the files of the parts, with one file at a time in memory. Each file is compared with its hash
 * once.
 */
function openOutcomes(files: readonly OutcomesFile[], variation: Variation): OutcomeSource {
  const parts = orderSweepParts(variation);
  const count = countVariants(variation);
  const variantsByFile = files.map((file) => file.parts.flatMap((part) => parts.variants(part)));
  const checkedFiles = new Set<OutcomesFile>();

  function readOutcomes(file: OutcomesFile): readonly VariantOutcome[] {
    const bytes = readFileSync(file.path);
    if (!checkedFiles.has(file) && createHash('sha256').update(bytes).digest('hex') !== file.sha256)
      throw new Refusal('DOCUMENT_UNREADABLE', 'Outcomes of some variants are damaged: run the sweep again.');
    checkedFiles.add(file);
    return deserialize(bytes) as readonly VariantOutcome[]; // the parts wrote these outcomes
  }

  return {
    count,
    visit(call, wanted) {
      const isDone = new Uint8Array(count);
      for (const [i, file] of files.entries()) {
        const variants = variantsByFile[i]!;
        const isDue = (variant: number): boolean => isDone[variant] === 0 && (wanted?.has(variant) ?? true);
        if (!variants.some(isDue)) continue;
        for (const [position, outcome] of readOutcomes(file).entries()) {
          const variant = variants[position]!;
          if (isDue(variant)) call(variant, outcome);
          isDone[variant] = 1;
        }
      }
    },
    keyOf: ({ days, level }) => createHash('sha256').update(days).update(level).digest('base64'),
  };
}

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
