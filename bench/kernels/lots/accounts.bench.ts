import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AccountProgram } from '#kernels/lots/account-program.js';
import { solveAccount } from '#kernels/lots/solve-account.js';
import { createRandomAccount } from '../../../test/kernels/lots/random-account.js';
import { readText } from '../../variables.js';
import { runPeer, scratch } from '../optimisation/outside-peers.js';
import { formatTime, measureTask } from '../../measure.js';

/**
 * Measures accounts of about 3,000 lots of 500 securities with 40 factors, and of 20,000 lots. Prints the warm
 * processor time per account, by lot order, with fractional and with whole shares. Then it compares convex accounts
 * with cvxopt and OSQP, which solve the same problem in sparse form on one thread. cvxopt ends at 1e-11. OSQP ends at
 * residuals of 1e-6, so its objective differs by more.
 */
const COUNT = 100;
const WARM_UP = 10;
const PEER_ACCOUNTS = 3;
const SIZE = { n: 500, k: 40, lotsPerSecurity: 7 };
const WHOLE_ACCOUNT = { share: 0.00005 };
/** Stands for an account whose tracking limit is computed from the account itself, see `limitTrackingError`. */
const LIMITED_ACCOUNT = { trackingLimit: Infinity };
const SMALL_ACCOUNT = { n: 40, k: 8, lotsPerSecurity: 4, share: 0.0005 };
const SCRIPT = fileURLToPath(new URL('../../../../bench/kernels/lots/accounts.py', import.meta.url));

type Order = 'specific' | 'hifo' | 'fifo';

for (const [label, order, more, count] of [
  ['any fraction', 'specific', {}, COUNT],
  ['whole shares', 'specific', WHOLE_ACCOUNT, COUNT],
  ['highest cost first, any fraction', 'hifo', {}, COUNT],
  ['highest cost first, whole shares', 'hifo', WHOLE_ACCOUNT, COUNT],
  ['oldest first, any fraction', 'fifo', {}, COUNT],
  ['oldest first, whole shares', 'fifo', WHOLE_ACCOUNT, COUNT],
  ['20,000 lots', 'specific', { lotsPerSecurity: 40 }, 20],
  ['20,000 lots, oldest first', 'fifo', { lotsPerSecurity: 40 }, 20],
  ['a limit that binds, highest cost first, whole shares', 'hifo', { ...LIMITED_ACCOUNT, ...WHOLE_ACCOUNT }, 20],
  ['a limit that binds, oldest first, whole shares', 'fifo', { ...LIMITED_ACCOUNT, ...WHOLE_ACCOUNT }, 20],
  [
    '40 securities, a limit that binds, oldest first, whole shares',
    'fifo',
    { ...LIMITED_ACCOUNT, ...SMALL_ACCOUNT },
    100,
  ],
] as const) {
  const accounts = Array.from({ length: count }, (_, i) => {
    const account = createAccount(order, { ...SIZE, ...more, seed: i + 1 });
    return 'trackingLimit' in more ? limitTrackingError(account) : account;
  });
  for (const account of accounts.slice(0, WARM_UP)) solveAccount(account, { nodes: 0 });
  const solutions = accounts.map(solveTimed);
  const lots = accounts.reduce((sum, { lotSize }) => sum + lotSize.length, 0) / count;
  const times = solutions.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const steps = solutions.reduce((sum, solution) => sum + solution.steps, 0) / count;
  const gaps = solutions.map((solution) => solution.gap).toSorted((a, b) => a - b);
  const mean = times.reduce((sum, ms) => sum + ms, 0) / count;
  console.log(
    `${label}: ${Math.round(lots)} lots, ${mean.toFixed(1)} ms an account (median ${times[count / 2]!.toFixed(1)}, ` +
      `p99 ${times[Math.ceil(0.99 * count) - 1]!.toFixed(1)}), ${steps.toFixed(1)} steps, ` +
      `gap ${gaps[count / 2]!.toExponential(1)}, largest ${gaps.at(-1)!.toExponential(1)}`,
  );
}

/**
 * Returns an account with a lot order. The lots of a random account are unordered: the oldest lot may have any gain.
 */
function createAccount(order: Order, terms: Parameters<typeof createRandomAccount>[0]): AccountProgram {
  const program = createRandomAccount({ ...terms, isOrdered: order !== 'specific' });
  if (order !== 'hifo') return program;
  const { lotStart, lotSize, lotShort, lotLong } = program;
  const places = Array.from(lotSize, (_, l) => l);
  for (let i = 0; i < program.n; i++) {
    const securityLots = places.slice(lotStart[i]!, lotStart[i + 1]!);
    securityLots.sort((a, b) => lotShort[a]! + lotLong[a]! - lotShort[b]! - lotLong[b]!);
    places.splice(lotStart[i]!, securityLots.length, ...securityLots);
  }
  const pick = (values: Float64Array): Float64Array => Float64Array.from(places, (l) => values[l]!);
  return { ...program, lotSize: pick(lotSize), lotShort: pick(lotShort), lotLong: pick(lotLong) };
}

/** Sets the limit of the tracking error halfway between its minimum and its value for the account without a limit. */
function limitTrackingError(program: AccountProgram): AccountProgram {
  const baseProgram = { ...program, unit: new Float64Array(program.n) };
  const [freeSolution, averseSolution] = [baseProgram, { ...baseProgram, taxWeight: 1e-3, aversion: 1000 }].map((own) =>
    Math.sqrt(solveAccount(own, { nodes: 0 }).figures.variance),
  ) as [number, number];
  return { ...program, varianceLimit: ((freeSolution + averseSolution) / 2) ** 2 };
}

const python = readText('BENCH_PYTHON')!;
for (const peer of ['cvxopt', 'osqp']) {
  try {
    runPeer(python, [SCRIPT, 'probe', peer]);
    comparePeer(peer);
  } catch (failure) {
    console.log(`${peer}: ${String(failure).split('\n')[0]}`);
  }
}
rmSync(scratch, { recursive: true });

function comparePeer(peer: string): void {
  for (let seed = 1; seed <= PEER_ACCOUNTS; seed++) {
    const account = createConvexAccount(seed);
    const { figures } = solveAccount(account, { nodes: 0 });
    const time = measureTask(() => solveAccount(account, { nodes: 0 }), { warmUps: WARM_UP });
    const file = join(scratch, 'account.json');
    writeFileSync(file, JSON.stringify(account, toPlain));
    const [peerMs, , objective, status] = runPeer(python, [SCRIPT, file, peer]).trim().split(' ');
    const differenceText = Math.abs(Number(objective) - figures.objective).toExponential(1);
    console.log(
      `convex ${seed}: ${formatTime(time)}, ${peer} ${Number(peerMs).toFixed(1)} ms (${status}), ` +
        `ratio ${(time.median / Number(peerMs)).toFixed(3)}, objectives differ by ${differenceText}`,
    );
  }
}

function solveTimed(account: AccountProgram) {
  const begin = process.cpuUsage();
  const { figures, bound, steps } = solveAccount(account, { nodes: 0 });
  const { user, system } = process.cpuUsage(begin);
  return { ms: (user + system) / 1000, steps, gap: figures.objective - bound, objective: figures.objective };
}

/** Returns an account without losses but with previous net losses, which is one convex problem. */
function createConvexAccount(seed: number): AccountProgram {
  const program = createRandomAccount({ ...SIZE, seed, aversion: 1 });
  return {
    ...program,
    lotShort: program.lotShort.map(Math.abs),
    lotLong: program.lotLong.map(Math.abs),
    fixedShort: -0.004 * seed,
    fixedLong: 0.001 * seed,
  };
}

function toPlain(_: string, value: unknown): unknown {
  return ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : value === Infinity ? 'inf' : value;
}
