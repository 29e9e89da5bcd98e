import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Comparison of a template with its rules in plain code on one store. */
export interface Evidence {
  readonly template: string;
  readonly store: string;
  readonly documents: number;
  /** Largest difference of a weight. */
  readonly weights: number;
  readonly level: number;
  /** Processor time of the service for the backtests of its documents. */
  readonly ms: number;
}

const FILE = fileURLToPath(new URL('../../../test/methodologies/evidence.json', import.meta.url));

/** Evidence of the latest run that updated it. */
export const readEvidence = (): Evidence[] => JSON.parse(readFileSync(FILE, 'utf8')) as Evidence[];

export function writeEvidence(found: readonly Evidence[]): void {
  writeFileSync(FILE, `${JSON.stringify(found, null, 2)}\n`);
}
