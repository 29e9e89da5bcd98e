import type { ScheduleDay } from '#clients/typescript/divisor.js';

type StepType = ScheduleDay['steps'][number]['type'];

/** Labels of the step types. */
const STEP_WORDS: Readonly<Record<StepType, string>> = {
  refresh: 'Refresh data',
  checks: 'Check',
  run: 'Run',
  compare: 'Compare',
  publish: 'Publish',
  export: 'Write files',
  render: 'Render reports',
  deliver: 'Deliver',
};

export const stepWords = (type: string): string => STEP_WORDS[type as StepType] ?? type;

/** Labels of the checks. */
export const CHECK_WORDS: Readonly<Record<string, string>> = {
  coverage: 'Coverage',
  staleness: 'Repeated prices',
  moves: 'Unexplained moves',
  history: 'Restated history',
  actions: 'Action dates',
  confirmed_actions: 'Unconfirmed actions',
  weights: 'Weights',
  divisor: 'Divisor',
  limits: 'Limits',
  second_source: 'Second source',
  published: 'Published closes',
};

export const formatCheck = (name: string): string => CHECK_WORDS[name] ?? name;
