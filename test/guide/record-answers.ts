import { LIMITS } from '#domain/base/limits.js';
import type { LiveService } from '../real/live.js';
import { createExampleRunner, OPERATIONS, STORY } from './example-story.js';

/** Maximum number of elements of a list, or entries of a map, that are recorded. */
const ENTRIES_MAX = 3;
const MAP_MIN = 7;

/**
 * Returns a response for every operation that returns JSON, by operation id. It is the response to the example of the
 * operation, with shortened lists.
 */
export async function recordAnswers(service: LiveService): Promise<Record<string, unknown>> {
  const runner = createExampleRunner(service);
  const answers: Record<string, unknown> = {};
  for (const id of STORY) {
    const { answer } = await runner.run(id);
    if (answer.status >= 300)
      throw new Error(`the example of ${id} answers ${answer.status}: ${JSON.stringify(answer.body)}`);
    const type = answer.headers.get('content-type') ?? '';
    if (type.startsWith('application/json') && id !== 'getOpenApi')
      answers[id] = cut(JSON.parse(JSON.stringify(answer.body).replaceAll(service.folder, '/srv/divisor')));
  }
  return Object.fromEntries([...OPERATIONS.keys()].filter((id) => id in answers).map((id) => [id, answers[id]]));
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
