import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { releaseAtRest } from '#base/memory.js';
import {
  computeLevelGrowth,
  computeMoments,
  computeTallyBytes,
  createTallies,
  divideSimulation,
  planSimulation,
  type SimulationPlan,
  summariseSimulation,
} from '#domain/analytics/simulation.js';
import { readSecurityCurrency } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { formatDay } from '#domain/base/time.js';
import { createSparseMemory } from '#domain/books/book.js';
import { openMarketOn } from '#domain/market/session-market.js';
import { estimatePeriodsPerYear, listClosures, type RecordedClosures } from '#domain/calendars/calendar.js';
import { createSharedDecisions } from '#domain/decide/shared-decisions.js';
import { parseAcceptedIndex } from '#domain/definition/index-validation.js';
import { createSecurityTerms } from '#domain/market/action-effects.js';
import { computeGrowth } from '#domain/market/growth.js';
import { createMarketKey, type MarketData } from '#domain/market/market-data.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import { computeFactorRisk } from '#domain/risk/contributions.js';
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
import type { OutcomesFile, SimulationInput, SweepPartInput, TalliesFile } from '#jobs/tasks/runs.js';
import type { PathTallies } from '#kernels/simulation/simulate-paths.js';
import { createJsonWriter } from '#views/json/writer.js';
import { createSimulationView, createSweepRow, createSweepView } from '#views/studies.js';
import {
  openCachedCalendars,
  openCachedMarket,
  openEarlierContents,
  openModels,
  openNumerics,
  runOnEngine,
} from '../input/inputs.js';
import { copyOutput, writeOutputs, writeRowsInBlocks } from '../output/task-outputs.js';
import { useRunFile } from '../run-files.js';
import { findHoldingPositions, listHoldingsByName, sumAbsent } from '../views/run-holdings.js';

/** Number of paths between two checks for a cancellation. They take a few milliseconds. */
const PATHS_PER_STEP = 4_096;

/** Plan of a simulation, with the figures of the run that its summary repeats. */
interface SimulationStart {
  readonly plan: SimulationPlan;
  readonly observations: number;
  readonly observedStart: string;
  readonly observedEnd: string;
  /** Mean return per session. */
  readonly mean: number;
  readonly deviation: number;
  /** Number of sessions per year. */
  readonly periods: number;
  readonly factorShare: number | null;
}

/** Plan of the last simulation of this thread. The next part probably belongs to the same simulation. */
let lastStart: { readonly key: string; readonly start: SimulationStart } | undefined;

/** Plans a simulation from its input only. The plan is therefore identical on every node. */
async function openStart(input: SimulationInput): Promise<SimulationStart> {
  const { columns, request, calendar, market } = input;
  const key = JSON.stringify([columns, request, calendar, market && createMarketKey(market)]);
  if (lastStart?.key !== key) lastStart = { key, start: await planStart(input) };
  return lastStart.start;
}

async function planStart(input: SimulationInput): Promise<SimulationStart> {
  const { request } = input;
  const run = readRun(input);
  const growth = computeLevelGrowth(run.level);
  const moments = computeMoments(growth);
  const observedModel = {
    observations: growth.length,
    observedStart: formatDay(run.days[0]!),
    observedEnd: formatDay(run.days.at(-1)!),
    mean: moments.mean,
    periods: estimatePeriodsPerYear(run.days),
  };
  if (request.method === 'block_bootstrap') {
    const plan = planSimulation(request, { kind: 'block_bootstrap', growth, block: request.block }, moments);
    return { plan, ...observedModel, deviation: moments.deviation, factorShare: null };
  }
  const { totalVariance, factorShare } = await computeModelledRisk(input, run);
  const deviation = Math.sqrt(totalVariance / observedModel.periods);
  const plan = planSimulation(
    request,
    { kind: 'gaussian', mean: moments.mean, deviation },
    { mean: moments.mean, deviation },
  );
  return { plan, ...observedModel, deviation, factorShare } satisfies SimulationStart;
}

interface RunHistory {
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly currency: string;
  readonly closures: RecordedClosures | undefined;
  /** Weights after the last close, by security. */
  readonly weights: ReadonlyMap<string, number>;
}

function readRun({ columns }: SimulationInput): RunHistory {
  return useRunFile(columns, (run: RunColumns) => {
    const { names, dates } = run.header;
    const weights = run.f64('weights', (dates - 1) * names.length, dates * names.length);
    return {
      days: run.i32('days').slice(),
      level: run.f64('level').slice(),
      currency: readSecurityCurrency(run.header),
      closures: run.header.closures,
      weights: listHoldingsByName(names, weights),
    };
  });
}

/** Returns the variance of the last weights under a statistical factor model of the run's window. */
async function computeModelledRisk({ request, calendar, market: handle }: SimulationInput, run: RunHistory) {
  const calendars = openCachedCalendars(run.closures);
  const sm = openMarketOn({ market: openCachedMarket(handle!), calendars, code: calendar }); // the service requires a market for the factor model
  const window = {
    sm,
    growth: computeGrowth(sm, createSecurityTerms('total', run.currency)),
    from: Math.max(0, sm.sessionAt(run.days[0]!)),
    to: findLastAtMost(sm.sessions, run.days.at(-1)!),
  };
  const weights = findHoldingPositions(sm, run.weights);
  const { factors } = request;
  return runOnEngine((engine) =>
    computeFactorRisk(engine, window, {
      weights,
      benchmark: new Map(),
      absent: sumAbsent(sm, run.weights),
      model: 'statistical',
      factors,
    }),
  );
}

/** Draws the paths of some parts. Writes the results of one part after another. */
export const simulatePart: Task<'simulate-part'> = async ({ parts, outputs, ...input }, control) => {
  const { plan } = await openStart(input);
  const engine = await openNumerics();
  const cuts = divideSimulation(plan);
  const sizes = parts.map((part) => computeTallyBytes(cuts[part + 1]! - cuts[part]!, plan.horizon));
  const memory = new ArrayBuffer(sum(sizes));
  let position = 0;
  for (const [i, part] of parts.entries()) {
    const [from, to] = [cuts[part]!, cuts[part + 1]!];
    const tallies = createTallies(memory, position, to - from, plan.horizon);
    for (let first = from; first < to; first += PATHS_PER_STEP) {
      control.report((i + (first - from) / (to - from)) / parts.length, 'paths');
      const chunk = sliceTallies(tallies, first - from, Math.min(first + PATHS_PER_STEP, to) - from);
      const { model, horizon, seed, bins } = plan;
      engine.simulatePaths({ model, horizon, seed, first, bins }, chunk);
    }
    position += sizes[i]!;
  }
  return writeOutputs(outputs, { tallies: new Uint8Array(memory) });
};

/**
 * Returns views of the results of some paths. @param from first path within the results; `to` is the last path plus one
 */
const sliceTallies = (
  { counts, finals, lows, drawdowns, underwater }: PathTallies,
  from: number,
  to: number,
): PathTallies => ({
  counts,
  finals: finals.subarray(from, to),
  lows: lows.subarray(from, to),
  drawdowns: drawdowns.subarray(from, to),
  underwater: underwater.subarray(from, to),
});

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Summarises drawn paths: a SimulationView as JSON. */
export const sumSimulation: Task<'sum-simulation'> = async ({ files, runId, dates, outputs, ...input }) => {
  const { request } = input;
  const start = await openStart(input);
  const summary = summariseSimulation(request, start.plan, readTallies(files, start.plan));
  const { precision } = await openNumerics();
  const viewJson = toCanonicalJson(createSimulationView({ ...start, runId, dates, precision, request, summary }));
  return writeOutputs(outputs, { view: copyOutput(viewJson) });
};

/** Returns the results of all paths from the files of the parts, with one file at a time in memory. */
function readTallies(files: readonly TalliesFile[], { paths, horizon }: SimulationPlan): PathTallies {
  const cuts = divideSimulation({ paths, horizon });
  const tallies = createTallies(new ArrayBuffer(computeTallyBytes(paths, horizon)), 0, paths, horizon);
  const isDone = new Set<number>();
  for (const file of files) {
    const bytes = readPart(file);
    let position = 0;
    for (const part of file.parts) {
      const [from, to] = [cuts[part]!, cuts[part + 1]!];
      // Two files may contain the same part, with bit-identical results.
      if (!isDone.has(part))
        addTallies(tallies, from, createTallies(bytes.buffer, bytes.byteOffset + position, to - from, horizon));
      isDone.add(part);
      position += computeTallyBytes(to - from, horizon);
    }
  }
  return tallies;
}

function addTallies(tallies: PathTallies, from: number, part: PathTallies): void {
  for (const list of ['finals', 'lows', 'drawdowns', 'underwater'] as const) tallies[list].set(part[list], from);
  for (let k = 0; k < part.counts.length; k++) tallies.counts[k]! += part.counts[k]!;
}

/** Reads a file with the results of some parts, and verifies its hash. @throws Refusal DOCUMENT_UNREADABLE */
function readPart({ path, sha256 }: TalliesFile): Buffer<ArrayBuffer> {
  const bytes = readFileSync(path);
  if (createHash('sha256').update(bytes).digest('hex') === sha256) return bytes;
  throw new Refusal('DOCUMENT_UNREADABLE', 'Results of some paths are damaged: run the simulation again.');
}

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
let sharedDecisions = createSharedDecisions();

releaseAtRest(() => {
  sparseMemory = createSparseMemory();
  sharedDecisions = createSharedDecisions();
});

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
