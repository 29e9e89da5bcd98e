import type { AnyJob } from '#clients/typescript/divisor.js';
import { screenOf, step } from './terminal.js';

/** Where a job command tells how far its job is. */
export interface JobScreen {
  /** Whether a program reads: one JSON object a line, nothing else. */
  readonly asJson: boolean;
  status(job: AnyJob): void;
  /** Tells that an answer is waited for, as long as it is. */
  waiting<T>(answer: Promise<T>): Promise<T>;
  line(record: object): void;
  /** The job is done, and its result lies in `out` where that is given. */
  done(out: string | undefined): void;
  /** Nothing came of it. */
  abandon(): void;
}

/** Between two drawings of the time that an answer takes. */
const TICK_MS = 1000;

/** Between two lines of a pipe that tell the time an answer takes. */
const PIPE_TICK_MS = 10_000;

/** A person at a terminal sees one line that redraws itself; a program gets every change once. */
export function jobScreen(name: string, json: boolean): JobScreen {
  const screen = screenOf(process.stdout);
  const asJson = json || !screen.isTerminal;
  const line = (record: object) => screen.write(`${JSON.stringify(record)}\n`);
  if (asJson)
    return { asJson, status: changes(line), waiting: waitedFor(name), line, done: () => {}, abandon: () => {} };
  const { progress, waited, done, abandon } = step(screen, name);
  return {
    asJson,
    status: (job) => progress(job.progress, job.message),
    async waiting(answer) {
      const ticking = setInterval(waited, TICK_MS);
      try {
        return await answer;
      } finally {
        clearInterval(ticking);
      }
    },
    line,
    done: (out) => done(out === undefined ? 'done' : `written to ${out}`),
    abandon,
  };
}

/** Says on standard error of a pipe, now and then, that an answer is still waited for. */
const waitedFor =
  (name: string): JobScreen['waiting'] =>
  async (answer) => {
    const began = Date.now();
    const still = () => {
      const seconds = Math.round((Date.now() - began) / 1000);
      process.stderr.write(`divisor ${name}: still waiting for the answer after ${seconds} s\n`);
    };
    const ticking = setInterval(still, PIPE_TICK_MS);
    try {
      return await answer;
    } finally {
      clearInterval(ticking);
    }
  };

function changes(line: (record: object) => void): (job: AnyJob) => void {
  let last = '';
  return ({ job_id, status, progress, message }) => {
    const record = { event: 'status', job_id, status, progress, message };
    const text = JSON.stringify(record);
    if (text !== last) line(record);
    last = text;
  };
}
