import type { AnyJob } from '#clients/typescript/divisor.js';
import { openScreen, startStep } from './terminal.js';

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
