import type { z } from 'zod';
import type { AuditLog } from '#contract/governance.js';
import { LIMITS } from '#domain/base/limits.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { LiveService } from '../real/live.js';
import { createExampleRunner, OPERATIONS, STORY } from './example-story.js';

/** Maximum number of elements of a list, or entries of a map, that are recorded. */
const ENTRIES_MAX = 3;
const MAP_MIN = 7;

export interface ExampleOutcome {
  readonly status: number;
  /** Text of the response if it is an error. */
  readonly refusal?: string;
  /** Job that the example started, after its end. */
  readonly job?: Pick<JobStatus, 'status' | 'error'>;
}

/** Outcomes of all examples by operation id, and the log of writes after the last example. */
export interface StoryOutcomes {
  readonly examples: Readonly<Record<string, ExampleOutcome>>;
  readonly audit: z.infer<typeof AuditLog>;
}

export interface RecordedStory extends StoryOutcomes {
  /** Responses by operation id, for every operation that returns JSON. */
  readonly answers: Readonly<Record<string, unknown>>;
}

/**
 * Runs the example of every operation. Records the outcomes, and the successful JSON responses with shortened lists. An
 * example that fails has no answer.
 */
export async function recordStory(service: LiveService): Promise<RecordedStory> {
  const runner = createExampleRunner(service);
  const answers: Record<string, unknown> = {};
  const examples: Record<string, ExampleOutcome> = {};
  for (const id of STORY) {
    const { answer, job } = await runner.run(id);
    const isSuccess = answer.status < 300;
    examples[id] = {
      status: answer.status,
      ...(isSuccess ? {} : { refusal: JSON.stringify(answer.body) }),
      ...(job === undefined ? {} : { job: { status: job.status, error: job.error } }),
    };
    const type = answer.headers.get('content-type') ?? '';
    if (isSuccess && type.startsWith('application/json') && id !== 'getOpenApi')
      answers[id] = cut(JSON.parse(JSON.stringify(answer.body).replaceAll(service.folder, '/srv/divisor')));
  }
  return {
    answers: Object.fromEntries([...OPERATIONS.keys()].filter((id) => id in answers).map((id) => [id, answers[id]])),
    examples,
    audit: await service.ok<z.infer<typeof AuditLog>>('GET', '/audit'),
  };
}

/** Shortens lists and large maps. Keeps all columns of a table. */
export function cut(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map(cut);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value);
  // The names of limits are members of an object. They are not keys of a map.
  const isMap =
    members.length >= MAP_MIN &&
    members.every(([key]) => /^[A-Z0-9][A-Z0-9_.-]*$/.test(key)) &&
    members.some(([key]) => !(key in LIMITS));
  return Object.fromEntries(
    (isMap ? members.slice(0, ENTRIES_MAX) : members).map(([key, member]) => [key, cut(member)]),
  );
}
