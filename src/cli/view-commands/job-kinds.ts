import type { JobKindState } from '#clients/typescript/divisor.js';
import { requireKind } from './job-kind-word.js';
import { createViewCommand } from './view-command.js';

const KIND = { name: 'KIND', help: 'Kind of job, such as sweep.' };

export const jobKinds = createViewCommand({
  summary: 'List the kinds of jobs, and show which kinds are paused.',
  words: [],
  flags: {},
  examples: ['divisor jobs kinds'],
  ask: (client) => client.call('listJobKinds'),
  records: ({ kinds }) => kinds.map(toRecord),
});

export const pauseKind = createViewCommand({
  summary: 'Stop starting jobs of a kind. Running jobs continue.',
  words: [KIND],
  flags: { reason: { type: 'string', value: 'TEXT', help: 'Reason, which is shown with the kind.' } },
  examples: ['divisor jobs pause sweep --reason "month end"'],
  ask: async (client, [kind = ''], flags) =>
    client.call('pauseJobKind', {
      params: { job_kind: await requireKind('KIND', kind) },
      body: { reason: flags.text('reason') ?? null },
    }),
  records: (state) => [toRecord(state)],
});

export const resumeKind = createViewCommand({
  summary: 'Start jobs of a paused kind again.',
  words: [KIND],
  flags: {},
  examples: ['divisor jobs resume sweep'],
  ask: async (client, [kind = '']) =>
    client.call('resumeJobKind', { params: { job_kind: await requireKind('KIND', kind) } }),
  records: (state) => [toRecord(state)],
});

const toRecord = ({ kind, lane, pause }: JobKindState) => ({
  kind,
  lane,
  paused_at: pause?.paused_at ?? null,
  author: pause?.author ?? null,
  reason: pause?.reason ?? null,
});
