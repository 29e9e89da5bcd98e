import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

const MAIN = resolve('dist/src/main.js');

/** A run of the command in a process of its own. */
export interface Run {
  readonly child: ChildProcessWithoutNullStreams;
  /** What it has written so far. */
  readonly out: () => string;
  readonly err: () => string;
  /** Exit status, or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

export function divisor(words: readonly string[], environment: Record<string, string> = {}, folder?: string): Run {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [MAIN, ...words], {
    env: { PATH, ...environment },
    ...(folder !== undefined && { cwd: folder }),
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = once(child, 'close').then(([status, signal]) => (status ?? signal) as number | string);
  return { child, out: () => out, err: () => err, ended };
}

/** Runs the command to its end. */
export async function finished(words: readonly string[], environment: Record<string, string> = {}) {
  const run = divisor(words, environment);
  const status = await run.ended;
  return { status, out: run.out(), err: run.err() };
}

/** Starts the service on a home and waits until it says where it listens. */
export async function serving(
  home: string,
  words: readonly string[] = [],
  environment: Record<string, string> = {},
): Promise<Run & { readonly url: string }> {
  const run = divisor(['serve', '--home', home, '--port', '0', '--warm-up', 'off', ...words], environment);
  const url = await new Promise<string>((listening, failed) => {
    run.child.stdout.on('data', () => {
      const match = /^listening on (\S+)\n/.exec(run.out());
      if (match?.[1] !== undefined) listening(match[1]);
    });
    run.ended.then((status) => failed(new Error(`ended with ${status}: ${run.err()}`)), failed);
  });
  return { ...run, url };
}
