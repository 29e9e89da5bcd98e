import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MarketData, shareMarket } from '#domain/market/market-data.js';
import { RiskModelRequest } from '#domain/risk/risk-models.js';
import { estimateModel } from '#workers/risk/risk-models.js';
import { writePanels } from '../domain/seeded-market.js';
import { startPython, type PythonPeer } from '../http/service.js';
import { computeMedian } from '#domain/base/numbers.js';
import { readFolder } from '../variables.js';

/**
 * A Monday, in days since 1970-01-01. In a market with trading on weekends, a year would have a different number of
 * sessions.
 */
const MONDAY = 10_000;

/**
 * Measures the whole task of a risk model as a worker runs it: sessions and returns of the securities from a store of
 * 1.2 times as many securities, product, shrinkage, eigenvalues, packing, hash. Prints the processor time of the task
 * on a warm thread, and the memory that it needs in addition to the store. With BENCH_PEERS it compares two sizes with
 * numpy, in turns, including diagnostics. The task also packs, writes and hashes. Goals of the task: 500 securities x
 * 2,520 returns within 120 ms; 3,000 x 756 within 4 s and 2.2 matrices of memory. `http/peers` contains the goals of
 * the job.
 */
const PAIRS = 5;
/** Maximum relative difference of diagnostics from numpy. */
const TOLERANCE = 1e-6;

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const destination = { kind: 'folder', folder, lowWaterMark: {} } as const;
const peer = readFolder('BENCH_PEERS') === undefined ? 'BENCH_PEERS is not given' : await startPython();
if (typeof peer === 'string') console.log(`no comparison with numpy: ${peer}`);
for (const [assets, observations] of [
  [3000, 756],
  [2000, 1260],
  [1500, 756],
  [500, 2520],
  [500, 756],
] as const) {
  const market = createRandomMarket(Math.ceil(1.2 * assets), observations + 1);
  const runTask = createTask(market, assets);
  const before = process.memoryUsage.rss();
  const times: number[] = [];
  let matrices = Number.NaN;
  for (let repeat = 0; repeat < (assets > 500 ? 2 : 5); repeat++) {
    times.push((await runTask()).processor);
    // The largest problem runs first, because the peak memory of the process never decreases.
    if (repeat === 0) matrices = (1024 * process.resourceUsage().maxRSS - before) / (8 * assets * assets);
  }
  console.log(
    `${assets} names x ${observations} returns: first ${times[0]!.toFixed(0)} ms, then ${Math.min(...times.slice(1)).toFixed(0)} ms of the processor${assets === 3000 ? `; peak memory grew by ${matrices.toFixed(2)} matrices` : ''}`,
  );
  if (typeof peer !== 'string' && (assets === 1500 || observations === 2520))
    await compare(peer, market, assets, runTask);
}
if (typeof peer !== 'string') await peer.stop();
rmSync(folder, { recursive: true });

interface EstimateMeasurement {
  /** Processor time of all threads, ms. */
  readonly processor: number;
  /** Average correlation, condition number and smallest eigenvalue, which the peer computes as well. */
  readonly answer: readonly number[];
}

function createTask(market: MarketData, assets: number): () => Promise<EstimateMeasurement> {
  const handle = shareMarket(market);
  const identifiers = Array.from({ length: assets }, (_, i) => formatName(i));
  const request = RiskModelRequest.parse({ identifiers });
  const input = { market: handle, universe: { kind: 'names', identifiers }, request } as const;
  return async () => {
    const start = process.cpuUsage();
    const outputs = { destination, names: { covariance: randomUUID(), factors: randomUUID() } };
    const { diagnostics } = await estimateModel({ ...input, outputs }, { report: () => {} });
    const { user, system } = process.cpuUsage(start);
    if (diagnostics.assets !== assets) throw new Error(`${diagnostics.assets} names estimated`);
    const { average_correlation, condition_number, smallest_eigenvalue } = diagnostics;
    return {
      processor: (user + system) / 1000,
      answer: [average_correlation, condition_number, smallest_eigenvalue].map(Number),
    };
  };
}

/** Runs the task and numpy in turns, prints their times, and fails if their results differ. */
async function compare(
  python: PythonPeer,
  market: MarketData,
  assets: number,
  task: () => Promise<EstimateMeasurement>,
): Promise<void> {
  // the peer also reads a panel of shares, but does not use it
  const fields = new Map([...market.fields, ['SHARES_OUTSTANDING', market.fields.get('CLOSE')!]]);
  const size = writePanels(folder, { ...market, fields });
  const request = { work: 'risk_model', folder, ...size, names_used: assets, from: 0, to: size.sessions - 1 };
  const [ownTimes, peerTimes]: [number[], number[]] = [[], []];
  for (let pair = -1; pair < PAIRS; pair++) {
    const ownResult = await task();
    const peerResult = await python.ask(request);
    const differences = ownResult.answer.map((value, i) => Math.abs(value / peerResult.answer[i]! - 1));
    if (!(Math.max(...differences) <= TOLERANCE))
      throw new Error(`${ownResult.answer} here, ${peerResult.answer} by numpy`);
    if (pair < 0) continue; // the first run of the peer is not warm
    ownTimes.push(ownResult.processor);
    peerTimes.push(peerResult.processor);
  }
  const ratios = ownTimes.map((time, i) => time / peerTimes[i]!);
  console.log(
    `  processor, medians of ${PAIRS} pairs in turns: here ${computeMedian(ownTimes).toFixed(0)} ms, numpy ${computeMedian(peerTimes).toFixed(0)} ms; of numpy ${computeMedian(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
  );
}

function formatName(i: number): string {
  return `N${String(i).padStart(5, '0')}`;
}

function createRandomMarket(names: number, days: number): MarketData {
  const moves = createSeededPanel(names * days);
  const close = new Float64Array(names * days).fill(100);
  for (let i = names; i < close.length; i++) close[i] = close[i - names]! * (1 + moves[i]!);
  return {
    datasetId: `bench-${names}`,
    contentHash: '',
    adjustment: 'none',
    identifiers: Array.from({ length: names }, (_, i) => formatName(i)),
    dates: Int32Array.from({ length: days }, (_, t) => MONDAY + 7 * Math.floor(t / 5) + (t % 5)),
    fields: new Map([['CLOSE', close]]),
    reference: { columns: [], rows: new Map() },
    actions: [],
    universes: [],
  };
}

/** Returns a panel of seeded returns around zero. */
function createSeededPanel(length: number, seed = 42): Float64Array {
  let state = seed;
  return Float64Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state / 2 ** 31) * 0.02;
  });
}
