import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { DIVISOR_IN_SHELL } from './process.js';

/** True if this machine has the `script` command of util-linux, which runs a command on a separate terminal. */
export const hasPseudoTerminal =
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true;

export interface TerminalRun {
  readonly status: number | null;
  /** Complete output of the command, including control sequences. */
  readonly written: string;
  /** Lines that are visible at the end. */
  readonly screen: readonly string[];
}

/** Milliseconds after which a command that waits for more input is stopped. */
const COMMAND_MS_MAX = 60_000;

/**
 * Runs the command to its end on a terminal of 200 columns. It does not block this process: a blocked process would not
 * notice that a server closes an idle connection, and its next request would fail.
 * @param input text that the user types
 */
export async function runOnTerminal(
  words: readonly string[],
  environment: Record<string, string>,
  input = '',
): Promise<TerminalRun> {
  const command = [DIVISOR_IN_SHELL, ...words.map((word) => `'${word}'`)].join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', `stty cols 200; ${command}`, '/dev/null'], {
    env: { PATH: process.env['PATH'], SHELL: '/bin/sh', TERM: 'xterm', ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: COMMAND_MS_MAX,
  });
  child.stdin.end(input);
  const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number | null]>]);
  const output = stdout.replaceAll('\r\n', '\n');
  const screenLines = output
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\r\u001b[2K').at(-1) ?? '');
  return { status, written: output, screen: screenLines };
}
