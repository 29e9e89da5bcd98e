import type { Health } from '#clients/typescript/divisor.js';
import { keptList } from './kept.js';

/** A state of the service, from the time at which this browser first saw it. */
export interface HealthChange {
  readonly at: string;
  readonly status: string;
  readonly reason: string;
  readonly version: string;
  readonly startedAt: string;
}

const CHANGES_MAX = 200;

const { items, set } = keptList<HealthChange>('divisor.health', CHANGES_MAX);

/** States of the service as this browser saw them, the newest last. */
export const healthChanges = items;

/** Adds a state that differs from the one before. */
export function noteHealth({ status, reason, version, started_at: startedAt, checks }: Health): void {
  const failing = checks.filter(({ ok }) => !ok).map(({ name, message }) => message ?? name);
  const text = [reason, ...failing.filter((message) => message !== reason)].filter(Boolean).join(' ');
  const last = items.peek().at(-1);
  if (last !== undefined && last.status === status && last.reason === text && last.startedAt === startedAt) return;
  set([...items.peek(), { at: new Date().toISOString(), status, reason: text, version, startedAt }]);
}
