import type { StepType } from '#domain/daily-plans/step-catalogue.js';
import type { Performer } from './performer.js';
import { createChecksPerformer, createComparePerformer, type ChecksDependencies } from './steps/checks.js';
import { createDeliverPerformer, type DeliverDependencies } from './steps/deliver.js';
import { createExportPerformer, type ExportDependencies } from './steps/export.js';
import { createPublishPerformer, type PublishDependencies } from './steps/publish.js';
import { createRefreshPerformer, type RefreshDependencies } from './steps/refresh.js';
import { createRenderPerformer, type RenderDependencies } from './steps/render.js';
import { createRunPerformer, type RunDependencies } from './steps/run.js';

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
  refresh: createRefreshPerformer(dependencies),
  checks: createChecksPerformer(dependencies),
  run: createRunPerformer(dependencies),
  compare: createComparePerformer(dependencies),
  publish: createPublishPerformer(dependencies),
  export: createExportPerformer(dependencies),
  render: createRenderPerformer(dependencies),
  deliver: createDeliverPerformer(dependencies),
});
