/** Priorities of jobs: each lane starts those of the first, then those of the next. */
export const JOB_PRIORITIES = ['high', 'normal', 'low'] as const;
export type JobPriority = (typeof JOB_PRIORITIES)[number];
