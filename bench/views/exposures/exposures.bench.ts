import { openColumns } from '#domain/backtest/run-file/read.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { createFigures } from '#views/exposures/dated-figures.js';
import { exposuresOf } from '#views/exposures/exposures-view.js';
import { sampleRun } from '../../../test/views/report/sample-run.js';
import { threadMs } from '../../thread-time.js';

/** Exposures of 500 names over 5,040 sessions: groups, concentration and turnover, then the percentiles of a datapoint. */
const LIMIT_MS = 50;
const ROUNDS = 9;
const NAMES = 500;
const engine = wasmEngine();

const sectors = Array.from({ length: 11 }, (_, k) => `Sector ${k}`);
const { columns, run } = sampleRun({ names: NAMES, start: '2004-01-01', end: '2023-04-26', sectors });
const groupOf = (name: string) => ({
  group: sectors[name.length + (name.charCodeAt(name.length - 1) % 7)] ?? name,
  until: Infinity,
});

function never(): never {
  throw new Error('no datapoint is asked for');
}

function groups(): number {
  const view = exposuresOf(
    openColumns((from, to) => columns.subarray(from, to)),
    {
      window: { start: null, end: null },
      by: 'SECTOR',
      groups: 20,
      interval: 'native',
      groupOf,
      benchmark: null,
      fields: { fields: [], standsAlone: never, on: never },
      keep: (_what, size) => createFigures(size),
      engine,
    },
  );
  return view.groups.length;
}

/** Values that drift as prices do, [sessions x names]. */
const values = new Float64Array(run.days.length * NAMES);
for (let i = 0; i < NAMES; i++) values[i] = Math.exp(((i * 7919) % 1000) / 250);
for (let k = NAMES; k < values.length; k++) values[k] = values[k - NAMES]! * (1 + 0.02 * Math.sin(k * 12.9898));
const weights = engine.allocate(NAMES).fill(1 / NAMES);
const ofDate = engine.allocate(NAMES);
const shares = Float64Array.of(0.1, 0.25, 0.5, 0.75, 0.9);

function percentiles(): number {
  const out = new Float64Array(2 + shares.length);
  let sink = 0;
  for (let t = 0; t < run.days.length; t++) {
    ofDate.set(values.subarray(t * NAMES, (t + 1) * NAMES));
    engine.weightedPercentiles({ values: ofDate, weights, count: NAMES }, shares, out);
    sink += out[4]!;
  }
  return sink;
}

for (const [name, work] of [
  ['groups, concentration and turnover', groups],
  ['percentiles of a datapoint', percentiles],
] as const) {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = threadMs();
    work();
    times.push(threadMs() - before);
  }
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[ROUNDS >> 1]!;
  console.log(`${name}: ${sorted[0]!.toFixed(1)} ms at least, median ${median.toFixed(1)} ms (limit ${LIMIT_MS} ms)`);
  if (median > LIMIT_MS) process.exitCode = 1;
}
