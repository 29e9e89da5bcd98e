import { ErrorEnvelope } from '#contract/payloads.js';

export async function createRefusal(response: Promise<Response>): Promise<{
  status: number;
  code: string;
  message: string;
  detail: Record<string, unknown> | null;
  headers: Headers;
}> {
  const answer = await response;
  const { error } = ErrorEnvelope.parse(await answer.json());
  return { status: answer.status, ...error, headers: answer.headers };
}

export function listFindings(detail: Record<string, unknown> | null): string[] {
  const all = (detail?.['findings'] ?? []) as { path: string; code: string }[];
  return all.map(({ path, code }) => `${path}: ${code}`);
}
