import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AccountProgram } from '#kernels/lots/account-program.js';
import { solveAccount } from '#kernels/lots/solve-account.js';
import { randomAccount } from '../../../test/kernels/lots/random-account.js';
import { textFrom } from '../../variables.js';
import { runPeer, scratch } from '../optimisation/outside-peers.js';

/**
 * Accounts of about 3,000 lots of 500 securities with 40 factors: processor time per account, warm, of any fraction and of
 * whole shares; then convex accounts next to cvxopt, which has the same problem in sparse form, one thread and tolerances of 1e-11.
 */
const COUNT = 40;
const WARM_UP = 10;
const PEER_ACCOUNTS = 3;
const SIZE = { n: 500, k: 40, lotsOf: 7 };
const SCRIPT = fileURLToPath(new URL('../../../../bench/kernels/lots/accounts.py', import.meta.url));

for (const [label, share] of [
  ['any fraction', 0],
  ['whole shares', 0.00005],
] as const) {
  const accounts = Array.from({ length: COUNT }, (_, at) => randomAccount({ ...SIZE, seed: at + 1, share }));
  for (const account of accounts.slice(0, WARM_UP)) solveAccount(account, { nodes: 0 });
  const solved = accounts.map(solveTimed);
  const lots = accounts.reduce((sum, { lotSize }) => sum + lotSize.length, 0) / COUNT;
  const times = solved.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const steps = solved.reduce((sum, own) => sum + own.steps, 0) / COUNT;
  const gap = Math.max(...solved.map((own) => own.gap));
  const mean = times.reduce((sum, ms) => sum + ms, 0) / COUNT;
  console.log(
    `${label}: ${Math.round(lots)} lots, ${mean.toFixed(1)} ms an account (largest ${times.at(-1)!.toFixed(1)}), ` +
      `${steps.toFixed(1)} steps, largest gap ${gap.toExponential(1)}`,
  );
}

const python = textFrom('BENCH_PYTHON')!;
try {
  runPeer(python, [SCRIPT, 'probe']);
  comparePeer();
} catch (failure) {
  console.log(`cvxopt: ${String(failure).split('\n')[0]}`);
}
rmSync(scratch, { recursive: true });

function comparePeer(): void {
  const ratios: number[] = [];
  for (let seed = 1; seed <= PEER_ACCOUNTS; seed++) {
    const account = convex(seed);
    for (let i = 0; i < WARM_UP; i++) solveAccount(account, { nodes: 0 });
    const times = Array.from({ length: 5 }, () => solveTimed(account));
    const ms = times.map((own) => own.ms).toSorted((a, b) => a - b)[2]!;
    const file = join(scratch, 'account.json');
    writeFileSync(file, JSON.stringify(account, plain));
    const [peerMs, , objective, status] = runPeer(python, [SCRIPT, file]).trim().split(' ');
    ratios.push(ms / Number(peerMs));
    const difference = Math.abs(Number(objective) - times[0]!.objective).toExponential(1);
    console.log(
      `convex ${seed}: ${ms.toFixed(1)} ms, cvxopt ${Number(peerMs).toFixed(1)} ms (${status}), ` +
        `ratio ${ratios.at(-1)!.toFixed(3)}, objectives differ by ${difference}`,
    );
  }
}

function solveTimed(account: AccountProgram) {
  const begin = process.cpuUsage();
  const { figures, bound, steps } = solveAccount(account, { nodes: 0 });
  const { user, system } = process.cpuUsage(begin);
  return { ms: (user + system) / 1000, steps, gap: figures.objective - bound, objective: figures.objective };
}

/** Account without losses after net losses before: one convex problem. */
function convex(seed: number): AccountProgram {
  const program = randomAccount({ ...SIZE, seed, aversion: 1 });
  return {
    ...program,
    lotShort: program.lotShort.map(Math.abs),
    lotLong: program.lotLong.map(Math.abs),
    fixedShort: -0.004 * seed,
    fixedLong: 0.001 * seed,
  };
}

function plain(_: string, value: unknown): unknown {
  return ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : value === Infinity ? 'inf' : value;
}
