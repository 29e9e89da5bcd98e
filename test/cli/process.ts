import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { pino } from 'pino';
import { vi } from 'vitest';
import { dispatch } from '#cli/dispatch.js';
import { start, stop } from '#cli/commands/serve.js';
import { readSettings } from '#cli/settings/settings.js';
import { keepThreads } from '#jobs/pool.js';

/**
 * Words that start the command of this package. The process optimises its code later than the process of a user would.
 */
export const DIVISOR = [
  process.execPath,
  '--require',
  resolve('test/cli/compile-later.cjs'),
  resolve('dist/src/main.js'),
] as const;

/** The command as text for a shell. */
export const DIVISOR_IN_SHELL = DIVISOR.map((word) => `'${word}'`).join(' ');

/** A run of the command in a separate process. */
export interface Run {
  readonly child: ChildProcessWithoutNullStreams;
  /** Returns the output so far. */
  readonly out: () => string;
  readonly err: () => string;
  /** Exit status of the process, or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

/**
 * Starts the command in a separate process. Requests of the command wait for data longer than usual after a restart,
 * because the machine may be busy.
 */
export function runDivisor(words: readonly string[], environment: Record<string, string> = {}, folder?: string): Run {
  const { PATH = '' } = process.env;
  const [node, ...main] = DIVISOR;
  const child = spawn(node, [...main, ...words], {
    env: { PATH, DIVISOR_DATA_WAIT_MS: '60000', ...environment },
    ...(folder !== undefined && { cwd: folder }),
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const exit = once(child, 'close').then(([status, signal]) => (status ?? signal) as number | string);
  return { child, out: () => out, err: () => err, ended: exit };
}

/** Exit status and output of a command. */
export interface CommandOutcome {
  readonly status: number | string;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs a command to its end in this process, which is cheaper than a separate process. The command sees only the given
 * environment variables. Commands run one at a time, because they share the streams of the process.
 */
export async function runHere(
  words: readonly string[],
  environment: Record<string, string> = {},
): Promise<CommandOutcome> {
  keepThreads();
  const [out, err] = [captureOutput(process.stdout), captureOutput(process.stderr)];
  try {
    const status = await dispatch(words, { DIVISOR_WORKERS: '1', ...environment });
    return { status, out: out.text(), err: err.text() };
  } finally {
    out.release();
    err.release();
  }
}

/**
 * Captures the output of a stream of this process. `release` stops the capture and removes the listeners that were
 * added after its start.
 */
function captureOutput(stream: NodeJS.WriteStream): { text(): string; release(): void } {
  const chunks: Uint8Array[] = [];
  const listeners = stream.listeners('error');
  const listenersMax = stream.getMaxListeners();
  stream.setMaxListeners(0); // every thread of this process adds listeners until it ends
  const write = vi.spyOn(stream, 'write').mockImplementation((chunk, ...rest) => {
    chunks.push(Buffer.from(chunk));
    for (const callback of rest) if (typeof callback === 'function') callback();
    return true;
  });
  return {
    text: () => Buffer.concat(chunks).toString('utf8'),
    release() {
      write.mockRestore();
      stream.setMaxListeners(listenersMax);
      for (const listener of stream.listeners('error'))
        if (!listeners.includes(listener)) stream.off('error', listener as () => void);
    },
  };
}

/**
 * Runs the command to its end in a separate process. @param input standard input of the command; left open by default
 */
export async function runToEnd(
  words: readonly string[],
  environment: Record<string, string> = {},
  input?: string,
): Promise<CommandOutcome> {
  const run = runDivisor(words, environment);
  if (input !== undefined) run.child.stdin.end(input);
  const status = await run.ended;
  return { status, out: run.out(), err: run.err() };
}

export type ListeningProcess = Run & { readonly url: string; readonly home: string };

/** Starts the service on a home and waits until it reports its address. */
export const startService = (
  home: string,
  words: readonly string[] = [],
  environment: Record<string, string> = {},
): Promise<ListeningProcess> => startListening('serve', home, words, environment);

/** A service on a home in this process, for tests that do not examine the process. */
export interface RunningServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the service in this process, without a log, and waits until it serves its market. */
export async function startServiceHere(
  home: string,
  words: readonly string[] = [],
  environment: Record<string, string> = {},
): Promise<RunningServer> {
  keepThreads();
  const flags = ['--home', home, '--port', '0', '--warm-up', 'off', '--workers', '1', ...words];
  const { settings } = readSettings(flags, { DIVISOR_DATA_WAIT_MS: '60000', ...environment });
  const server = await start(settings, pino({ level: 'silent' }));
  await server.service.resumed;
  return { url: server.server.url, stop: () => stop({ ...server, drainMs: 0 }) };
}

/** Starts a worker in a separate process and waits until it reports its address. */
export const startWorkerProcess = (
  home: string,
  words: readonly string[],
  environment: Record<string, string>,
): Promise<ListeningProcess> => startListening('worker', home, words, environment);

async function startListening(
  verb: 'serve' | 'worker',
  home: string,
  words: readonly string[],
  environment: Record<string, string>,
): Promise<ListeningProcess> {
  const run = runDivisor([verb, '--home', home, '--port', '0', '--warm-up', 'off', ...words], environment);
  const url = await new Promise<string>((resolve, reject) => {
    run.child.stdout.on('data', () => {
      const match = /^listening on (\S+)\n/.exec(run.out());
      if (match?.[1] !== undefined) resolve(match[1]);
    });
    run.ended.then((status) => reject(new Error(`ended with ${status}: ${run.err()}`)), reject);
  });
  return { ...run, url, home };
}
