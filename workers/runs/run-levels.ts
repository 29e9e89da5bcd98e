import type { Task } from '#jobs/tasks.js';
import { useRunFile } from '../run-files/run-file.js';

/** Reads the index levels of a stored run. */
export const readRunLevels: Task<'run-levels'> = ({ columns }) =>
  useRunFile(columns, (run) => ({
    calendar: run.header.calendar,
    days: run.i32('indexDays'),
    levels: run.f64('indexLevel'),
  }));
