import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AnyJob } from '#clients/typescript/divisor.js';
import { UsageError } from './usage.js';

/** Output of the command line. It has aligned tables and, on a terminal, a progress line that is redrawn. */

export interface Screen {
  readonly write: (text: string) => void;
  /** True if lines can be redrawn. A pipe gets each state once, on its own line. */
  readonly isTerminal: boolean;
  readonly columns: number;
}

export function openScreen(stream: NodeJS.WriteStream): Screen {
  return { write: (text) => void stream.write(text), isTerminal: stream.isTTY === true, columns: stream.columns ?? 80 };
}

export interface TerminalCell {
  readonly text: string;
  readonly align?: 'left' | 'right';
}

/** Formats rows with aligned columns. There are two spaces between columns and no spaces at the end of a line. */
export function formatTable(rows: readonly (readonly (string | TerminalCell)[])[], indent = 2): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? { text: cell } : cell)));
  const widths: number[] = [];
  for (const row of cells) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.text.length)));
  const formatLine = (row: readonly TerminalCell[]) =>
    row
      .map((cell, i) => (cell.align === 'right' ? cell.text.padStart(widths[i]!) : cell.text.padEnd(widths[i]!)))
      .join('  ');
  return cells.map((row) => `${' '.repeat(indent)}${formatLine(row).trimEnd()}\n`).join('');
}

export const alignRight = (text: string): TerminalCell => ({ text, align: 'right' });

/** Formats a fraction as a percentage with two decimals. */
export function formatPercentCell(fraction: number | null): string {
  return fraction === null ? '-' : `${(fraction * 100).toFixed(2)}%`;
}

export function formatTwoDecimals(value: number): string {
  return value.toFixed(2);
}

/** Formats a whole number with commas between thousands. */
export function formatWhole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export interface TerminalStep {
  /** Shows progress, speed and remaining time on a terminal. Does nothing on a pipe. */
  progress(fraction: number, message: string): void;
  /** Shows the elapsed time of a step whose progress is unknown. */
  waited(): void;
  /** Ends the step with its outcome. */
  done(outcome: string): void;
  /** Ends the step without a result. An error can then start on a new line. */
  abandon(): void;
}

const BAR_CELLS = 20;
const NAME_COLUMNS = 34;

/** Starts a step with a name. The name stays, and the text on the right changes until the result replaces it. */
export function startStep(screen: Screen, name: string, now: () => number = () => performance.now()): TerminalStep {
  const startMs = now();
  const label = `  ${name.padEnd(NAME_COLUMNS)}`;
  const formatPace = createPaceFormatter(now);
  const draw = (text: string) => screen.write(`\r\u001b[2K${`${label}${text}`.slice(0, screen.columns - 1)}`);
  if (screen.isTerminal) draw('');
  return {
    progress(fraction, message) {
      if (!screen.isTerminal) return;
      const filledCells = Math.round(fraction * BAR_CELLS);
      const paceText = formatPace(fraction);
      draw(
        [
          `[${'='.repeat(filledCells)}${' '.repeat(BAR_CELLS - filledCells)}]`,
          `${formatPercentage(fraction).padStart(3)}%`,
          ...(paceText === '' ? [] : [paceText]),
          message,
        ].join('  '),
      );
    },
    waited() {
      if (screen.isTerminal) draw(`${formatWhole((now() - startMs) / 1000)} s`);
    },
    done(outcome) {
      const secondsText = ((now() - startMs) / 1000).toFixed(1).padStart(5);
      if (screen.isTerminal) screen.write('\r\u001b[2K');
      screen.write(`${label}${secondsText} s  ${outcome}\n`);
    },
    abandon() {
      if (screen.isTerminal) screen.write('\r\u001b[2K');
    },
  };
}

/**
 * Returns a function that formats the speed of a step. It is measured from the first progress, so that waiting in the
 * queue does not count.
 */
function createPaceFormatter(now: () => number): (fraction: number) => string {
  let firstProgress: { readonly atMs: number; readonly fraction: number } | undefined;
  return (fraction) => {
    if (fraction <= 0 || fraction >= 1) return '';
    firstProgress ??= { atMs: now(), fraction };
    const seconds = (now() - firstProgress.atMs) / 1000;
    const rate = (fraction - firstProgress.fraction) / seconds;
    if (!(rate > 0) || !Number.isFinite(rate)) return '';
    return `${(100 * rate).toFixed(rate < 0.1 ? 1 : 0)}%/s, ${formatDuration((1 - fraction) / rate)} left`;
  };
}

const formatPercentage = (fraction: number): string => String(Math.floor(100 * fraction));

/** Formats seconds for people: 4 s, 2 min 05 s, 1 h 20 min. */
export function formatDuration(seconds: number): string {
  const wholeSeconds = Math.ceil(seconds);
  if (wholeSeconds < 60) return `${wholeSeconds} s`;
  const minutes = Math.floor(wholeSeconds / 60);
  if (minutes < 60) return `${minutes} min ${String(wholeSeconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}

/** Output that shows the progress of a job. */
export interface JobScreen {
  /** True if a program reads the output. The output is then one JSON object per line. */
  readonly asJson: boolean;
  status(job: AnyJob): void;
  /** Shows that the command waits, until the response arrives. */
  waiting<T>(answer: Promise<T>): Promise<T>;
  line(record: object): void;
  /** Reports success. If `outPath` is given, it is the file with the result. */
  done(outPath: string | undefined): void;
  /** Removes the progress line of work that produced no result. */
  abandon(): void;
}

/** Interval in ms between updates of the elapsed time on a terminal. */
const TICK_MS = 1000;

/** Interval in ms between lines with the elapsed time on a pipe. */
const PIPE_TICK_MS = 10_000;

/** Output format that the flags select. */
export interface OutputFormat {
  readonly json: boolean;
  /** True for CSV. The table is then the only output. */
  readonly csv: boolean;
}

/** Creates a screen. On a terminal, it redraws one line. For a program, it prints every change once. */
export function createJobScreen(name: string, { json, csv }: OutputFormat): JobScreen {
  const screen = openScreen(process.stdout);
  const isJson = json || csv || !screen.isTerminal;
  const writeLine = (record: object) => screen.write(`${JSON.stringify(record)}\n`);
  if (isJson)
    return {
      asJson: isJson,
      status: csv ? () => {} : createChangeFilter(writeLine),
      waiting: reportWaiting(name),
      line: writeLine,
      done: () => {},
      abandon: () => {},
    };
  const { progress, waited, done, abandon } = startStep(screen, name);
  return {
    asJson: isJson,
    status: (job) => progress(job.progress, job.message),
    async waiting(answer) {
      const timer = setInterval(waited, TICK_MS);
      try {
        return await answer;
      } finally {
        clearInterval(timer);
      }
    },
    line: writeLine,
    done: (outPath) => done(outPath === undefined ? 'done' : `written to ${outPath}`),
    abandon,
  };
}

/** On a pipe, reports at intervals that the response has not arrived yet. Writes to standard error. */
const reportWaiting =
  (name: string): JobScreen['waiting'] =>
  async (answer) => {
    const startMs = Date.now();
    const reportElapsedTime = () => {
      const seconds = Math.round((Date.now() - startMs) / 1000);
      process.stderr.write(`divisor ${name}: still waiting for the response after ${seconds} s\n`);
    };
    const timer = setInterval(reportElapsedTime, PIPE_TICK_MS);
    try {
      return await answer;
    } finally {
      clearInterval(timer);
    }
  };

function createChangeFilter(line: (record: object) => void): (job: AnyJob) => void {
  let lastLine = '';
  return ({ job_id, status, progress, message }) => {
    const record = { event: 'status', job_id, status, progress, message };
    const text = JSON.stringify(record);
    if (text !== lastLine) line(record);
    lastLine = text;
  };
}

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

export type StopSignal = keyof typeof SIGNAL_NUMBERS;

/**
 * Time in ms within which a second signal counts as the same request. npm and npx pass on the Ctrl-C that the terminal
 * has already sent to the command. A person who presses twice takes longer.
 */
const SAME_REQUEST_MS = 1_000;

/**
 * Calls `onRequest` at the first of the signals. If another signal arrives after {@link SAME_REQUEST_MS}, the process
 * ends at once with 128 + its number.
 * @param now monotonic clock in milliseconds
 * @returns a function that stops listening
 */
export function onStopRequest(
  signals: readonly StopSignal[],
  onRequest: (signal: StopSignal) => void,
  now: () => number = () => performance.now(),
): () => void {
  let firstRequestMs: number | undefined;
  const listen = (signal: StopSignal) => {
    if (firstRequestMs === undefined) {
      firstRequestMs = now();
      onRequest(signal);
    } else if (now() - firstRequestMs > SAME_REQUEST_MS) {
      process.exit(128 + SIGNAL_NUMBERS[signal]);
    }
  };
  for (const signal of signals) process.on(signal, listen);
  return () => {
    for (const signal of signals) process.off(signal, listen);
  };
}

/**
 * Writes a file as a whole: first under a temporary name of this process, then renamed. A reader always sees the
 * previous file or the complete new file, even if several processes write or one crashes.
 * @returns number of bytes
 * @throws UsageError if the folder is absent or cannot be written
 */
export async function writeWhole(
  path: string,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<number> {
  const part = `${path}.${process.pid}.part`;
  const file = createWriteStream(part);
  try {
    await pipeline(Readable.from(bytes), file);
    await rename(part, path);
  } catch (failure) {
    await rm(part, { force: true }).catch(() => {}); // the failure of the write is reported, not that of the cleanup
    throw explainUnwritable(path, failure) ?? failure;
  }
  return file.bytesWritten;
}

/** Reasons why a new file cannot be created in a folder, by system error code. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a folder',
  EACCES: 'cannot be written by this user',
  EROFS: 'is on a read-only disk',
};

function explainUnwritable(path: string, failure: unknown): UsageError | undefined {
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : '';
  const reason = REASONS[code];
  return reason === undefined ? undefined : new UsageError(`${path} cannot be written: ${dirname(path)} ${reason}`);
}
