/** Priorities of jobs. Each lane starts all jobs of a priority before those of the next priority. */
export const JOB_PRIORITIES = ['high', 'normal', 'low'] as const;
export type JobPriority = (typeof JOB_PRIORITIES)[number];
