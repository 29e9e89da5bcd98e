import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Result of comparing a template with its rules in plain code on one store. */
export interface Evidence {
  readonly template: string;
  readonly store: string;
  readonly documents: number;
  /** Largest difference of any weight. */
  readonly weights: number;
  readonly level: number;
  /** Processor milliseconds of the service for backtests of the template's documents. */
  readonly ms: number;
}

const FILE = fileURLToPath(new URL('../../../test/methodologies/evidence.json', import.meta.url));

/** Reads the evidence of the latest run that updated the file. */
export const readEvidence = (): Evidence[] => JSON.parse(readFileSync(FILE, 'utf8')) as Evidence[];

export function writeEvidence(evidence: readonly Evidence[]): void {
  writeFileSync(FILE, `${JSON.stringify(evidence, null, 2)}\n`);
}
