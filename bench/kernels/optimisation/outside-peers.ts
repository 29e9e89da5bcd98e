import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readFolder } from '../../variables.js';
import { toLowerBounds, encodeQuadratic, RIDGE, type Solution, type Quadratic } from './quadratic.js';

/**
 * Solves quadratic programmes with other libraries. Each solve runs in a separate process, so that threads and memory
 * of one peer do not affect the times of another. A peer repeats a quick solve and reports the median processor time of
 * all threads of the warm solves. The folder in BENCH_PEERS may contain `node_modules` with
 * quadprog, highs and cvxjs, and `bin` with the `python3` and `Rscript` to call. Default: those on the path. A missing
 * peer is reported.
 */
const FOLDER = readFolder('BENCH_PEERS') ?? '';
const SCRIPTS = fileURLToPath(new URL('../../../../bench/kernels/optimisation/', import.meta.url));
const OWN_SOLVER = fileURLToPath(new URL('./npm-peer.js', import.meta.url));

/** Solver of another library. @throws Error without a solution; TooSlow after the time limit */
export type Peer = (quadratic: Quadratic, seconds?: number) => Solution;

export const scratch = mkdtempSync(join(tmpdir(), 'peers-'));

/** Thrown if a peer exceeds its time limit. */
export class TooSlow extends Error {
  readonly seconds: number;

  constructor(seconds: number) {
    super(`more than ${seconds} s`);
    this.seconds = seconds;
  }
}

export function createPython(solver: 'cvxopt' | 'slsqp'): Peer | string {
  const [command, ...words] = [findExecutable('python3'), join(SCRIPTS, 'peers.py')];
  return createPeer(command, words, [solver], computeOneSided);
}

export function createRPeer(solver: 'quadprog' | 'ecos'): Peer | string {
  return createPeer(findExecutable('Rscript'), [join(SCRIPTS, 'peers.R')], [solver], computeOneSided);
}

/** Returns a peer that runs an npm package in a Node process. */
export function createNpmPeer(name: 'quadprog' | 'highs' | 'clarabel'): Peer | string {
  return createPeer(process.execPath, [OWN_SOLVER], [name], encodeQuadratic);
}

/** Runs a script with an optional time limit. @throws TooSlow */
export function runPeer(command: string, words: readonly string[], seconds?: number): string {
  try {
    return execFileSync(command, words, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1' },
      ...(seconds === undefined ? {} : { timeout: 1000 * seconds }),
    });
  } catch (failure) {
    if ((failure as { code?: string }).code === 'ETIMEDOUT') throw new TooSlow(seconds!);
    throw failure;
  }
}

/** Parses the processor time that a peer prints first. */
export const parseTime = (text: string): number => Number(text.trim().split(/\s+/)[0]);

function findExecutable(command: string): string {
  const ownCommand = join(FOLDER, 'bin', command);
  return FOLDER !== '' && existsSync(ownCommand) ? ownCommand : command;
}

/**
 * Returns a peer that reads the programme from a file, writes its solution to another file and prints its times.
 * Returns the reason as a text if the peer does not run.
 */
function createPeer(
  command: string,
  words: readonly string[],
  options: readonly string[],
  encodeInput: (quadratic: Quadratic) => Buffer,
): Peer | string {
  try {
    runPeer(command, [...words, 'probe', ...options]);
  } catch {
    return `${command} does not run ${options.join(' ')}`;
  }
  return (quadratic, seconds) => {
    const inputPath = join(scratch, 'programme');
    const output = join(scratch, 'answer');
    writeFileSync(inputPath, encodeInput(quadratic));
    const ms = parseTime(runPeer(command, [...words, inputPath, output, ...options], seconds));
    const answer = readFileSync(output);
    const x = new Float64Array(answer.buffer.slice(answer.byteOffset, answer.byteOffset + answer.byteLength));
    return { ms, x };
  };
}

/**
 * Encodes a programme with one-sided rows: header, Hessian, linear part, rows and their lower bounds. Bounds of
 * variables are written as rows.
 */
function computeOneSided(quadratic: Quadratic): Buffer {
  const { equalities, matrix, least } = toLowerBounds(quadratic);
  const head = Float64Array.of(quadratic.n, matrix.length, equalities, RIDGE);
  const parts = [head, quadratic.hessian, quadratic.linear, ...matrix, Float64Array.from(least)];
  return Buffer.concat(parts.map((values) => Buffer.from(values.buffer, values.byteOffset, values.byteLength)));
}
