import { listClosures } from '#domain/calendars/closures.js';
import { createHash } from 'node:crypto';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { createModelFileName } from '#domain/documents/bundle-document.js';
import type { PublicationEntry } from '#domain/documents/publication-document.js';
import type { Run } from '#domain/backtest/run.js';
import type { Composer } from '#domain/books/compositions.js';
import type { MarketData } from '#domain/market/market-data.js';
import { compareText } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import type { Task, ThreadInput } from '#jobs/tasks.js';
import { computeInputDigests } from '#views/bundle/input-digests.js';
import { encodeSlice } from '#views/bundle/market-slice.js';
import {
  findDifferingCloses,
  recomputeCloses,
  type DifferingClose,
  type Recomputation,
} from '#views/bundle/recompute.js';
import { answerBytes } from '../output/hand-over.js';
import { openEarlierContents } from '../input/known-contents.js';
import { openCachedMarket } from '../input/open-markets.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openModels } from '../input/opened-models.js';
import { readStoredDoubles } from '../input/stored-matrix.js';
import { sliceVersions } from './bundle-known.js';
import { createReadRecords } from './bundle-reads.js';
import { sliceMarket, listIncludedSecurities } from './bundle-slice.js';

type Input = ThreadInput<'publication-bundle'>;

/**
 * Writes the inputs that a published run reads. Before, recomputes the closes from only these inputs.
 * @throws Refusal NOT_REPRODUCED if the recomputed closes differ from the published closes
 */
export const writePublicationBundle: Task<'publication-bundle'> = async (input, control) => {
  const { plan, entries } = input;
  const wholeMarket = openCachedMarket(input.market);
  const reads = createReadRecords(
    wholeMarket,
    openCachedCalendars(listClosures(plan.documents)),
    openEarlierContents(wholeMarket, input.known).known,
  );
  const terms = { calendars: reads.calendars, plan, engine: openWasmEngine(), models: openModels(input.models) };
  const composers: Composer[] = [];
  const onComposer = (composer: Composer): unknown => composers.push(composer);
  const { run } = recomputeCloses({ ...terms, market: reads.market, known: reads.known, onComposer });
  control.report(0.4);
  // Keeps every security if decisions use data known at the time, because such decisions use earlier universes.
  const names = input.known === undefined ? listIncludedSecurities(wholeMarket, run, composers[0]!) : null;
  const slices = [
    (of: MarketData) =>
      sliceMarket(reads.narrowed(of), { names: names ?? new Set(of.identifiers), end: run.days.at(-1)! }),
    reads.narrowed,
  ];
  for (const slice of slices) {
    const market = slice(wholeMarket);
    const earlierVersions =
      input.known &&
      sliceVersions(wholeMarket, input.known, { first: findFirstDecision(run), slice, ownMarket: market });
    const recomputation = { ...terms, market, known: earlierVersions?.known };
    const firstDifference =
      slice === reads.narrowed ? findDifference(entries, recomputation) : tryRecompute(entries, recomputation);
    if (firstDifference === undefined)
      return createOutput(market, {
        'plan.json': encodeJson(plan),
        'calendars.json': encodeJson(reads.used()),
        ...collectModels(plan, input),
        ...earlierVersions?.files,
      });
    if (firstDifference !== 'refused' && slice === reads.narrowed)
      throw refuseNotReproduced(plan.indexId, firstDifference);
    control.report(0.6);
  }
  throw new Error('no slice was tried');
};

const findFirstDecision = ({ reached }: Run): number =>
  Math.min(...reached.flatMap(({ list, sm }) => list.map(({ decision }) => sm.sessions[decision]!)));

function findDifference(
  entries: readonly PublicationEntry[],
  recomputation: Recomputation,
): DifferingClose | undefined {
  return findDifferingCloses(entries, recomputeCloses(recomputation).closes)[0];
}

/** Recomputes closes from a part of the market. An input of the run may be missing in it. */
function tryRecompute(
  entries: readonly PublicationEntry[],
  recomputation: Recomputation,
): DifferingClose | 'refused' | undefined {
  try {
    return findDifference(entries, recomputation);
  } catch (thrown) {
    if (thrown instanceof Refusal) return 'refused';
    throw thrown;
  }
}

const encodeJson = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** Returns the packed covariances of the stored risk models, in the order of their ids. */
function collectModels({ models = {} }: BacktestPlan, input: Input): Readonly<Record<string, Uint8Array>> {
  const ids = Object.keys(models).toSorted(compareText);
  return Object.fromEntries(
    ids.map((id, place) => {
      const { buffer, byteOffset, byteLength } = readStoredDoubles(input.models![id]!.paths);
      return [createModelFileName(place), new Uint8Array(buffer, byteOffset, byteLength)];
    }),
  );
}

function createOutput(market: MarketData, ownFiles: Readonly<Record<string, Uint8Array>>) {
  const { securities, dates } = computeInputDigests(market);
  const allFiles = { ...ownFiles, ...encodeSlice(market) };
  const files = Object.fromEntries(Object.entries(allFiles).map(([name, bytes]) => [name, answerBytes(bytes)]));
  const hashes = Object.entries(files).map(([name, { bytes }]) => [
    name,
    createHash('sha256').update(bytes).digest('hex'),
  ]);
  return { files, hashes: Object.fromEntries(hashes) as Readonly<Record<string, string>>, securities, dates };
}

function refuseNotReproduced(indexId: string, { date, member, published, recomputed }: DifferingClose): Refusal {
  const message = `The closes of ${indexId} cannot be recomputed: on ${date} ${member} is ${String(published)} in the log and ${String(recomputed)} by this engine. Restate them from a run of now.`;
  return new Refusal('NOT_REPRODUCED', message, { date, member, published, recomputed });
}
