/** Patterns of text that differs between recordings: times, random ids, hashes, keys, signatures and free space. */
const VARYING_TEXTS = [
  /\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})/g,
  /\d{8}T\d{6}-[0-9a-f]{8}/g,
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g,
  /[0-9a-f]{16,}/g,
  /(?<=\.)[0-9a-f]{8}$/g,
  /[A-Za-z0-9+/]{40,}={1,2}/g,
  /\d+(?= MiB are free)/g,
];

/** Members whose numbers and dates differ between recordings. The text of the changelog differs as well. */
const VARYING_MEMBERS: ReadonlySet<string> = new Set([
  'uptime_seconds',
  'duration_ms',
  'cache_age',
  'bytes',
  'items',
  'coming_rebalance',
  'states',
]);

/**
 * Returns the recorded responses. If a response differs from its stored text only in parts that vary between
 * recordings, the stored text is kept. So every change of the file is a change of a response.
 */
export function selectStableAnswers(
  storedAnswers: Readonly<Record<string, unknown>>,
  recorded: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(recorded).map(([id, answer]) => [
      id,
      maskVaryingParts(storedAnswers[id]) === maskVaryingParts(answer) ? storedAnswers[id] : answer,
    ]),
  );
}

function maskVaryingParts(answer: unknown): string | undefined {
  return JSON.stringify(answer, (member, value: unknown) => {
    if (VARYING_MEMBERS.has(member)) return null;
    return typeof value === 'string'
      ? VARYING_TEXTS.reduce((text, pattern) => text.replace(pattern, ''), value)
      : value;
  });
}
