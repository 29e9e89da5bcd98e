import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { createSeededMarket, writePanels } from '../domain/seeded-market.js';
import {
  waitForIdle,
  startPython,
  startService,
  type Measurement,
  type PythonPeer,
  type RunningService,
} from './service.js';
import { computeMedian } from '#domain/base/numbers.js';
import { readNumber } from '../variables.js';
import { type ComparedWork, measurePeer, measureService, send, type SharedMarket, WORKS } from './peers/works.js';

/**
 * Compares equal work in the running service and in numpy, pandas and cvxopt, in turns. The time counts from submission
 * to completion and includes all threads. The results are compared before the times, and the run fails if they differ.
 * The service also writes and hashes its results, responds by HTTP and stores the job. The peer computes the same
 * numbers in memory.
 */
const SIZE = { names: 500, sessions: 5033 };

const python = await startPython();
if (typeof python === 'string') {
  console.log(`no comparison: ${python}`);
} else {
  const folder = await mkdtemp(join(tmpdir(), 'bench-peers-'));
  const workers = readNumber('PEERS_WORKERS');
  const workerFlags = workers === 0 ? [] : ['--workers', `${workers}`];
  const service = await startService([...workerFlags, '--data-roots', folder]);
  try {
    await compareAll(service, python, await shareMarket(service, folder));
  } finally {
    await service.stop();
    await python.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Creates one market for both sides: Parquet that the service serves, and panels of float64. */
async function shareMarket(service: RunningService, folder: string): Promise<SharedMarket> {
  const market = createSeededMarket(openCalendars(), SIZE);
  const storeFolder = join(folder, 'store');
  await writeMarket(storeFolder, market, () => {});
  const size = writePanels(folder, market);
  const body = { store_id: 'bench', name: 'Bench', kind: 'folder', location: storeFolder, activate: true };
  await send(service, 'POST', '/data/stores', body);
  await waitForIdle(service);
  return { folder, ...size, dates: Array.from(market.dates, formatDay) };
}

async function compareAll(service: RunningService, peer: PythonPeer, market: SharedMarket): Promise<void> {
  console.log(
    Object.entries(peer.versions)
      .map(([name, version]) => `${name} ${version ?? 'is not there'}`)
      .join(', '),
  );
  console.log(
    `${'processor (clock), ms, medians'.padEnd(56)} service            peer            ratio  of the pairs  goals`,
  );
  for (const work of WORKS) {
    const version = peer.versions[work.needs];
    if (version === null) {
      console.log(`${work.name}: not compared, ${work.needs} is not installed`);
      continue;
    }
    await compare(work, service, peer, market);
  }
}

async function compare(
  work: ComparedWork,
  service: RunningService,
  peer: PythonPeer,
  market: SharedMarket,
): Promise<void> {
  const request = await work.prepare(service, market);
  const ownMeasurements: Measurement[] = [];
  const peerMeasurements: Measurement[] = [];
  for (let pair = -work.untimed; pair < work.pairs; pair++) {
    const variedRequest = { ...request, ...(await work.vary?.(service, market, pair)) };
    // Work without variation has the same result in each turn. This result may be large, so it is read outside the
    // timed turns.
    const isRead = pair < 0 || pair === work.pairs - 1 || work.vary !== undefined;
    const turns = [
      async () => measureService(work, service, isRead),
      async () => measurePeer(peer, market, variedRequest),
    ] as const;
    const [a, b] = pair % 2 === 0 ? [await turns[0](), await turns[1]()] : (await runReversed(turns)).toReversed();
    if (isRead) assertAgreement(work, a!, b!);
    if (pair < 0) continue;
    ownMeasurements.push(a!);
    peerMeasurements.push(b!);
  }
  const ratios = ownMeasurements.map(({ processor }, i) => processor / peerMeasurements[i]!.processor);
  const ratio = computeMedian(ratios);
  console.log(
    `${work.name.padEnd(56)} ${formatCell(ownMeasurements)}  ${formatCell(peerMeasurements)}  ${ratio.toFixed(2).padStart(5)}  ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}  ${formatVerdict(work, ratio, ownMeasurements)}`,
  );
}

/**
 * Returns a text that compares the ratio and the processor and wall-clock times with their limit and goals. The goals
 * hold on free cores. The text marks limits that were exceeded.
 */
function formatVerdict({ limit, goal }: ComparedWork, ratio: number, measurements: readonly Measurement[]): string {
  const compareToLimit = (most: number, value: number): string => `${most}${value > most ? ' over' : ''}`;
  return [
    ...(limit === null ? [] : [`ratio ${compareToLimit(limit, ratio)}`]),
    ...(goal?.processor === undefined
      ? []
      : [`processor ${compareToLimit(goal.processor, findMedian(measurements, 'processor'))}`]),
    ...(goal?.wall === undefined ? [] : [`clock ${compareToLimit(goal.wall, findMedian(measurements, 'wall'))}`]),
  ].join(', ');
}

/** Runs the second function before the first, and returns the results in this order. */
async function runReversed([first, second]: readonly [() => Promise<Measurement>, () => Promise<Measurement>]): Promise<
  Measurement[]
> {
  const b = await second();
  return [b, await first()];
}

function assertAgreement(
  { name, tolerance }: ComparedWork,
  ownMeasurement: Measurement,
  peerMeasurement: Measurement,
): void {
  if (ownMeasurement.answer.length !== peerMeasurement.answer.length)
    throw new Error(
      `${name}: ${ownMeasurement.answer.length} numbers here, ${peerMeasurement.answer.length} by the peer`,
    );
  ownMeasurement.answer.forEach((value, i) => {
    const other = peerMeasurement.answer[i]!;
    if (!(Math.abs(value - other) <= tolerance * Math.abs(other)))
      throw new Error(`${name}: number ${i} is ${value} here and ${other} by the peer`);
  });
}

function formatCell(measurements: readonly Measurement[]): string {
  const formatMedian = (clock: 'processor' | 'wall'): string => findMedian(measurements, clock).toFixed(0).padStart(6);
  return `${formatMedian('processor')} (${formatMedian('wall')})`;
}

function findMedian(measurements: readonly Measurement[], clock: 'processor' | 'wall'): number {
  return computeMedian(measurements.map((each) => each[clock]));
}
