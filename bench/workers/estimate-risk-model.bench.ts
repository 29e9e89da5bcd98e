import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shareMarket } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { RiskModelRequest } from '#domain/documents/risk-model-document.js';
import { estimateModel } from '#workers/estimate-risk-model.js';
import { seededPanel } from '../kernels/measure.js';

/**
 * The whole task of a risk model as a worker runs it: sessions and returns of the names out of a store of 1.2 times as many, product,
 * shrinkage, eigenvalues, packing, hash. Processor time of the task on a warm thread, and the memory it added beyond the store.
 * Goals of the task: 500 names x 2,520 returns within 120 ms; 3,000 x 756 within 4 s and 2.2 matrices of memory. `http/peers` has those of the job.
 */
const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const destination = { kind: 'folder', folder, lowWaterMark: {} } as const;
for (const [assets, observations] of [
  [3000, 756],
  [2000, 1260],
  [500, 2520],
  [500, 756],
] as const) {
  const handle = shareMarket(randomMarket(Math.ceil(1.2 * assets), observations + 1));
  const identifiers = Array.from({ length: assets }, (_, i) => nameOf(i));
  const request = RiskModelRequest.parse({ identifiers });
  const input = { market: handle, universe: { kind: 'names', identifiers }, request } as const;
  const before = process.memoryUsage.rss();
  const times: number[] = [];
  let matrices = Number.NaN;
  for (let repeat = 0; repeat < (assets > 500 ? 2 : 5); repeat++) {
    const start = process.cpuUsage();
    const outputs = { destination, names: { covariance: randomUUID(), factors: randomUUID() } };
    const { diagnostics } = await estimateModel({ ...input, outputs }, { report: () => {} });
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / 1000);
    // The largest problem comes first: later ones find its peak already there.
    if (repeat === 0) matrices = (1024 * process.resourceUsage().maxRSS - before) / (8 * assets * assets);
    if (diagnostics.assets !== assets) throw new Error(`${diagnostics.assets} names estimated`);
  }
  console.log(
    `${assets} names x ${observations} returns: first ${times[0]!.toFixed(0)} ms, then ${Math.min(...times.slice(1)).toFixed(0)} ms${assets === 3000 ? `; peak memory grew by ${matrices.toFixed(2)} matrices` : ''}`,
  );
}
rmSync(folder, { recursive: true });

function nameOf(i: number): string {
  return `N${String(i).padStart(5, '0')}`;
}

function randomMarket(names: number, days: number): MarketData {
  const moves = seededPanel(names * days);
  const close = new Float64Array(names * days).fill(100);
  for (let at = names; at < close.length; at++) close[at] = close[at - names]! * (1 + moves[at]!);
  return {
    datasetId: `bench-${names}`,
    contentHash: '',
    adjustment: 'none',
    identifiers: Array.from({ length: names }, (_, i) => nameOf(i)),
    dates: Int32Array.from({ length: days }, (_, t) => 10_000 + t),
    fields: new Map([['CLOSE', close]]),
    reference: { columns: [], rows: new Map() },
    actions: [],
    universes: [],
  };
}
