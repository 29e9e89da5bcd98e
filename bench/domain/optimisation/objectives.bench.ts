import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { wasmEngine } from '#kernels/engines/wasm.js';
import {
  npmPeer,
  rPeer,
  runPeer,
  scratch,
  timesIn,
  TooSlow,
  type Peer,
  type Times,
} from '../../kernels/optimisation/outside-peers.js';
import type { Timing } from '../../kernels/measure.js';
import { asQuadratic } from './objectives/as-quadratic.js';
import {
  bytesOf,
  createCase,
  OBJECTIVES,
  valueOf,
  type Case,
  type ObjectiveName,
  type Outcome,
} from './objectives/cases.js';
import { listFrom, numberFrom, textFrom, wordsFrom } from '../../variables.js';

/**
 * Every objective but the tails, which `tails` has, beside cvxopt, SLSQP (of scipy), quadprog and ECOS (of R), HiGHS and Clarabel: each in
 * a process of its own, in turns, least of the rounds by the processor (all threads) and by the clock, and the distance of each optimum from
 * ours. Ours counts from the rows as clients write them, which peers get as matrices (`rows` says how much of it that is), with code that is
 * warm as in a service. SIZES=334,667, OBJECTIVES=max_sharpe,risk_parity and PEERS=ours,quadprog take some, ROUNDS=1 fewer rounds; a peer
 * may take PEER_SECONDS. BENCH_PEERS as in the bench of the kernels, BENCH_PYTHON another python3. A peer that is not there says so;
 * quadprog, ECOS, HiGHS and Clarabel get quadratic programmes alone.
 */
const sizes = listFrom('SIZES', /^[1-9]\d*$/).map(Number);
const objectives = wordsFrom('OBJECTIVES', OBJECTIVES);
const rounds = numberFrom('ROUNDS');

/** Seconds that a peer may take. */
const peerSeconds = numberFrom('PEER_SECONDS');

/** Seconds from which a peer is asked once. */
const REPEAT_SECONDS = 5;

const SCRIPT = fileURLToPath(new URL('../../../../bench/domain/optimisation/objectives.py', import.meta.url));
const OWN = fileURLToPath(new URL('./objectives/own-process.js', import.meta.url));
const FILE = join(scratch, 'case');
const python = textFrom('BENCH_PYTHON')!;
const engine = wasmEngine();

interface Told extends Times {
  readonly value: number;
  readonly rowsMs?: number;
}

/** A case to its answer; null where the peer has no such problem. */
type Side = (one: Case, type: ObjectiveName) => Told | null;

const sides: readonly (readonly [name: string, side: Side | string])[] = [
  ['cvxopt', pythonSide('cvxopt')],
  ['slsqp', pythonSide('slsqp')],
  ['quadprog', quadraticSide(rPeer('quadprog'))],
  ['ECOS', quadraticSide(rPeer('ecos'))],
  ['HiGHS', quadraticSide(npmPeer('highs'))],
  ['Clarabel', quadraticSide(npmPeer('clarabel'))],
];
const wanted = wordsFrom('PEERS', ['ours', ...sides.map(([name]) => name)]);
const peers = new Map<string, Side>();
for (const [name, side] of sides) {
  if (typeof side === 'string') console.log(`${name}: absent, ${side}`);
  else if (wanted.includes(name)) peers.set(name, side);
}

for (const names of sizes) for (const type of objectives) await compare(names, type);
rmSync(scratch, { recursive: true });

async function compare(names: number, type: ObjectiveName): Promise<void> {
  const one = createCase(engine, names, type);
  writeFileSync(FILE, bytesOf(one));
  const found = new Map<string, Told[]>();
  const ended = new Map<string, string>();
  const own = await startOwn(names, type);
  for (let round = 0; round < rounds; round++) {
    keep('ours', await askOwn(own));
    for (const [name, side] of peers) {
      if (ended.has(name) || (found.get(name)?.[0]?.ms ?? 0) > 1000 * REPEAT_SECONDS) continue;
      try {
        const told = side(one, type);
        if (told === null) ended.set(name, '');
        else keep(name, told);
      } catch (failure) {
        ended.set(name, reasonOf(failure));
      }
    }
  }
  own.disconnect();
  await once(own, 'exit');
  const ours = found.get('ours')!; // It has no failures: they end the bench.
  for (const [name, all] of found) report(`${names}`, type, name, all, ours);
  for (const [name, reason] of ended) if (reason !== '') tell(`${names}`, type, name, reason);

  function keep(name: string, told: Told): void {
    found.set(name, [...(found.get(name) ?? []), told]);
  }

  function reasonOf(failure: unknown): string {
    if (!(failure instanceof TooSlow)) return `failed: ${String(failure).split('\n')[0]!.slice(0, 80)}`;
    const ms = 1000 * failure.seconds;
    return (
      `more than ${failure.seconds} s`.padStart(12) + `, more than ${(ms / least(found.get('ours')!).ms).toFixed(0)} x`
    );
  }
}

async function startOwn(names: number, type: ObjectiveName): Promise<ChildProcess> {
  const child = fork(OWN, [String(names), type]);
  await once(child, 'message');
  return child;
}

async function askOwn(child: ChildProcess): Promise<Outcome> {
  const answered = once(child, 'message');
  child.send('round');
  const [outcome] = (await answered) as [Outcome];
  return outcome;
}

function pythonSide(solver: string): Side | string {
  try {
    runPeer(python, [SCRIPT, 'probe', solver]);
  } catch {
    return `${python} has it not`;
  }
  return (_one, type) => {
    const text = runPeer(python, [SCRIPT, FILE, type, solver], peerSeconds);
    return { ...timesIn(text), value: Number(text.trim().split(/\s+/)[2]) };
  };
}

function quadraticSide(peer: Peer | string): Side | string {
  if (typeof peer === 'string') return peer;
  return ({ problem }, type) => {
    const stated = asQuadratic(problem);
    if (stated === null) return null;
    const { x, ...times } = peer(stated.program, peerSeconds);
    return { ...times, value: valueOf(problem, type, stated.weightsOf(x)) };
  };
}

function least(all: readonly Told[]): Told {
  const of = (name: 'ms' | 'clockMs') => Math.min(...all.map((told) => told[name]));
  return { ...all[0]!, ms: of('ms'), clockMs: of('clockMs') };
}

function report(names: string, type: string, name: string, all: readonly Told[], ours: readonly Told[]): void {
  const [{ ms, clockMs, value, rowsMs }, own] = [least(all), least(ours)];
  const median = all.map((told) => told.ms).toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;
  const distance = (value - own.value) / Math.abs(own.value);
  tell(
    names,
    type,
    name,
    `${ms.toFixed(1).padStart(9)} ms ${(ms / own.ms).toFixed(2).padStart(8)} x  clock ${clockMs.toFixed(1).padStart(9)} ms ${(clockMs / own.clockMs).toFixed(2).padStart(8)} x  value less ours ${distance.toExponential(1)}${rowsMs === undefined ? '' : `, rows ${rowsMs.toFixed(1)} ms`}`,
  );
  const timing: Timing = {
    kernel: `objective ${type}`,
    size: `${names} names`,
    engine: name,
    minMs: ms,
    medianMs: median,
    clockMs,
  };
  process.send?.(timing);
}

function tell(names: string, type: string, name: string, text: string): void {
  console.log(`${names.padStart(5)} ${type.padEnd(20)} ${name.padEnd(8)} ${text}`);
}
