import type { JobStatus } from '#clients/typescript/divisor.js';
import { signal } from '@preact/signals';

/** A message that a job reported while this page was open. */
export interface LogLine {
  readonly at: string;
  readonly text: string;
  readonly progress: number;
}

/** Maximum number of lines that are kept per job, and maximum number of jobs. */
const LINES_MAX = 200;
const JOBS_MAX = 50;

const logsByJob = signal<ReadonlyMap<string, readonly LogLine[]>>(new Map());

export const getLog = (jobId: string): readonly LogLine[] => logsByJob.value.get(jobId) ?? [];

/** Appends the message of a job if it changed. */
export function addLogLine({ job_id: id, status, message, error, progress, attempt }: JobStatus): void {
  const lines = logsByJob.peek().get(id) ?? [];
  const text = error?.message ?? (message === '' ? status : message);
  const line = `${attempt > 1 ? `Attempt ${attempt}: ` : ''}${text}`;
  if (lines.at(-1)?.text === line) return;
  const all = new Map(logsByJob.peek());
  all.delete(id);
  all.set(id, [...lines, { at: new Date().toISOString(), text: line, progress }].slice(-LINES_MAX));
  logsByJob.value = new Map([...all].slice(-JOBS_MAX));
}
