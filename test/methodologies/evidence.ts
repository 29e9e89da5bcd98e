import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Result of a comparison, on one store, of a template with its rules in plain code. */
export interface Evidence {
  readonly template: string;
  readonly store: string;
  readonly documents: number;
  /** Largest difference of any weight. */
  readonly weights: number;
  readonly level: number;
  /** Processor milliseconds that the service needs to backtest the documents of the template. */
  readonly ms: number;
}

const FILE = fileURLToPath(new URL('../../../test/methodologies/evidence.json', import.meta.url));

/** Reads the evidence that the latest update has written to the file. */
export const readEvidence = (): Evidence[] => JSON.parse(readFileSync(FILE, 'utf8')) as Evidence[];

export function writeEvidence(evidence: readonly Evidence[]): void {
  writeFileSync(FILE, `${JSON.stringify(evidence, null, 2)}\n`);
}
