import type { Mapping } from '#domain/documents/mapping.js';

/** What the data does not say, and the field that says it. */
export interface Question {
  readonly field: keyof Mapping | 'adjustment';
  readonly question: string;
}
