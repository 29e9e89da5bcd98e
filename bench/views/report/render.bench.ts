import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { builtInTemplate, BUILT_IN_IDS, type BuiltInId } from '#domain/reports/built-in.js';
import { createRunFigures } from '#views/report/figures.js';
import { renderReport } from '#views/report/render-report.js';
import { openFonts } from '#views/report/text/fonts.js';
import { sampleRun } from '../../../test/views/report/sample-run.js';

/**
 * Reports of 500 names over 5,040 sessions. Processor time of the thread beside wall time: what others do on the machine
 * does not count in it. The limits are those a worker has for a factsheet.
 */
const LIMIT_MS = 700;
const LIMIT_BYTES = 400_000;
const RENDERS = 100;

const SECTORS = [
  'Financials',
  'Technology',
  'Communication Services',
  'Industrials',
  'Health Care',
  'Consumer Discretionary',
  'Energy',
  'Consumer Staples',
  'Utilities',
  'Materials',
  'Real Estate',
];
const COMPANIES = Array.from({ length: 500 }, (_, i) => `Company ${String.fromCharCode(65 + (i % 26))}${i} Holdings`);
const { columns, overview, run } = sampleRun({
  names: 500,
  start: '2004-01-01',
  end: '2023-04-26',
  cap: 0.02,
  benchmark: true,
  costs: 5,
  companies: COMPANIES,
  sectors: SECTORS,
});
console.log(
  `a run of ${COMPANIES.length} names over ${run.days.length} sessions, ${run.rebalances.length} rebalances, ${(columns.length / 1e6).toFixed(1)} MB of columns`,
);

const fonts = openFonts();
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function render(template: BuiltInId): number {
  const figures = createRunFigures({
    columns: openColumns((from, to) => columns.subarray(from, to)),
    overview,
    risk: { missing: 'No risk was estimated.' },
    terms: { transactionCostBps: 0, adjustment: 'none', overlay: null },
  });
  return renderReport({
    template: builtInTemplate(template, 'SAMPLE'),
    figures: new Map([['SAMPLE', figures]]),
    renderedAt: '2026-11-20T03:05:40.000000+00:00',
    fonts,
    report: () => {},
  }).bytes.length;
}

interface Timing {
  readonly wall: number;
  readonly processor: number;
}

function timed(work: () => number): Timing & { readonly bytes: number } {
  const before = process.cpuUsage();
  const start = performance.now();
  const bytes = work();
  const wall = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  return { wall, processor: (user + system) / 1000, bytes };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >>> 1]!;

const first = timed(() => render('FACTSHEET-A4'));
console.log(
  `FACTSHEET-A4, first in the thread     wall ${first.wall.toFixed(0)} ms, processor ${first.processor.toFixed(0)} ms (limit ${LIMIT_MS} ms)`,
);
for (const template of BUILT_IN_IDS) {
  const timings = Array.from({ length: 7 }, () => timed(() => render(template)));
  const least = Math.min(...timings.map(({ processor }) => processor));
  console.log(
    `${template.padEnd(37)} processor min ${least.toFixed(0)}, median ${median(timings.map(({ processor }) => processor)).toFixed(0)} ms; wall median ${median(timings.map(({ wall }) => wall)).toFixed(0)} ms; ${(timings[0]!.bytes / 1000).toFixed(0)} kB (limit ${LIMIT_BYTES / 1000} kB)`,
  );
}

function memory(): { readonly heap: number; readonly outside: number; readonly resident: number } {
  collect();
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
  return { heap: heapUsed / 1e6, outside: (external + arrayBuffers) / 1e6, resident: rss / 1e6 };
}

await setImmediate();
const before = memory();
for (let i = 0; i < RENDERS; i++) {
  render('FACTSHEET-A4');
  await setImmediate(); // A document is let go in the turn after it was read, as between two tasks of a worker.
}
const after = memory();
const change = (name: keyof typeof before): string =>
  `${name} ${before[name].toFixed(1)} -> ${after[name].toFixed(1)} MB`;
console.log(`${RENDERS} factsheets leave: ${change('heap')}, ${change('outside')}, ${change('resident')}`);
