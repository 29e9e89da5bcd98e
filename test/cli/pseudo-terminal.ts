import { spawnSync } from 'node:child_process';
import { DIVISOR_IN_SHELL } from './process.js';

/** Tests that this machine has the `script` of util-linux, which runs a command on a separate terminal. */
export const hasPseudoTerminal =
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true;

export interface TerminalRun {
  readonly status: number | null;
  /** Everything the command wrote, with what redraws. */
  readonly written: string;
  /** The lines that are left to see at the end. */
  readonly screen: readonly string[];
}

/** Time after which a command that waits for more input is ended. */
const COMMAND_MS_MAX = 60_000;

/** Runs the command on a terminal of 200 columns to its end. @param input typed by the user */
export function onTerminal(words: readonly string[], environment: Record<string, string>, input = ''): TerminalRun {
  const command = [DIVISOR_IN_SHELL, ...words.map((word) => `'${word}'`)].join(' ');
  const { status, stdout } = spawnSync(
    'script',
    ['--quiet', '--return', '--command', `stty cols 200; ${command}`, '/dev/null'],
    {
      env: { PATH: process.env['PATH'], SHELL: '/bin/sh', TERM: 'xterm', ...environment },
      encoding: 'utf8',
      input,
      timeout: COMMAND_MS_MAX,
    },
  );
  const written = stdout.replaceAll('\r\n', '\n');
  const screen = written
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\r\u001b[2K').at(-1) ?? '');
  return { status, written, screen };
}
