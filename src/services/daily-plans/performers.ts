import type { StepType } from '#domain/daily-plans/step-catalogue.js';
import type { Performer } from './performer.js';
import { checksPerformer, comparePerformer, type ChecksDependencies } from './steps/checks.js';
import { deliverPerformer, type DeliverDependencies } from './steps/deliver.js';
import { exportPerformer, type ExportDependencies } from './steps/export.js';
import { publishPerformer, type PublishDependencies } from './steps/publish.js';
import { refreshPerformer, type RefreshDependencies } from './steps/refresh.js';
import { renderPerformer, type RenderDependencies } from './steps/render.js';
import { runPerformer, type RunDependencies } from './steps/run.js';

export type Performers = { readonly [T in StepType]: Performer<T> };

export type PerformerDependencies = RefreshDependencies &
  RunDependencies &
  ChecksDependencies &
  PublishDependencies &
  ExportDependencies &
  RenderDependencies &
  DeliverDependencies;

/** Creates the performer of each kind of step. */
export const createPerformers = (dependencies: PerformerDependencies): Performers => ({
  refresh: refreshPerformer(dependencies),
  checks: checksPerformer(dependencies),
  run: runPerformer(dependencies),
  compare: comparePerformer(dependencies),
  publish: publishPerformer(dependencies),
  export: exportPerformer(dependencies),
  render: renderPerformer(dependencies),
  deliver: deliverPerformer(dependencies),
});
