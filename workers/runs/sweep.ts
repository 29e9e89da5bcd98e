import { serialize } from 'node:v8';
import { createSparseRoom } from '#domain/books/sparse-room.js';
import { indexDeciders } from '#domain/backtest/index-decider.js';
import { acceptedIndex } from '#domain/checks/validate-index.js';
import { sharedDecisions } from '#domain/rules/shared-decisions.js';
import { runVariants } from '#domain/sweeps/run-variants.js';
import { sweepTable } from '#domain/sweeps/sweep-table.js';
import { applyPatch, type Patch, type SweepBase, type Variant } from '#domain/sweeps/variants.js';
import type { Task } from '#jobs/tasks.js';
import { createJsonWriter } from '#views/json-writer.js';
import { sweepView } from '#views/sweep-view.js';
import { onEngine } from '../input/numerics.js';
import { openedKnown } from '../input/known-contents.js';
import { openedMarket } from '../input/open-markets.js';
import { openedCalendars } from '../input/opened-calendars.js';
import { openedModels } from '../input/opened-models.js';
import { outputContent, writeOutputs } from '../output/task-outputs.js';

/** Most bytes that a thread keeps for weights of the next variants: 500 names over ten years take 11 MB. */
const ROOM_BYTES_MAX = 64 * 2 ** 20;

/** Of this thread, which does one task at a time. */
let room = createSparseRoom();

/** Of this thread: definitions of parts that follow each other are alike. */
const sharing = sharedDecisions();

/** Runs some variants of a sweep. */
export const sweepPart: Task<'sweep-part'> = ({ market: handle, base, documents, models, known, patches }, control) =>
  onEngine((engine) => {
    const variants = patches.map((patch) => variantOf(base, patch));
    const market = openedMarket(handle);
    try {
      const outcomes = runVariants({
        market,
        calendars: openedCalendars(),
        variants,
        documents,
        models: openedModels(models),
        ...openedKnown(market, known),
        createDecider: indexDeciders(engine, sharing),
        room,
        report: (fraction) => control.report(fraction, 'running variants'),
      });
      return { outcomes };
    } finally {
      sharing.makeRoom();
      if (room.bytes() > ROOM_BYTES_MAX) room = createSparseRoom();
    }
  });

/** The same for the node that the sweep runs on: the outcomes as an artifact. */
export const writeSweepPart: Task<'write-sweep-part'> = async ({ outputs, ...input }, control) => {
  const { outcomes } = await sweepPart(input, control);
  return writeOutputs(outputs, { outcomes: outputContent(serialize(outcomes)) });
};

/** A variant that was checked before the job was queued. */
function variantOf(base: SweepBase, patch: Patch): Variant {
  const check = (body: unknown) => ({ document: acceptedIndex(body), findings: [] });
  const { variant, findings } = applyPatch(base, patch, { path: '', check });
  if (variant === undefined)
    throw new Error(
      `a variant that passed its check does not apply: ${findings.map(({ message }) => message).join(' ')}`,
    );
  return variant;
}

/** A SweepView of all variants as JSON. */
export const sumSweep: Task<'sum-sweep'> = async (
  { sweepId, indexId, rankBy, partitions, folds, patches, outcomes, market, engineVersion, outputs },
  control,
) => {
  const tick = (fraction: number) => control.report(fraction, 'weighing the choice');
  const table = await onEngine((engine) => sweepTable({ outcomes, rankBy, partitions, folds, engine, tick }));
  const json = createJsonWriter();
  json.value(
    sweepView({
      sweepId,
      indexId,
      rankBy,
      patches,
      table,
      storeContentHash: openedMarket(market).contentHash,
      engineVersion,
    }),
  );
  return writeOutputs(outputs, { view: outputContent(json.bytes()) });
};
