import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { isAssetIdentifier } from '../schema/shape.js';

const KINDS = ['index', 'identifier'] as const;

/** Benchmark of a run. It is compared with the run in addition to the tracked index. */
export const BenchmarkRef = defineObject(() => ({
  id: z.string().min(1).max(64),
  kind: z.enum(KINDS),
  price_column: z.string().min(1).max(64).default('CLOSE'),
})).meta({ id: 'BenchmarkRef' });
export type BenchmarkRef = z.infer<typeof BenchmarkRef>;

/** Benchmark as a text, the form used by every request that names a benchmark. */
export const BenchmarkName = z
  .string()
  .refine((text) => isAssetIdentifier(parseBenchmark(text).id), {
    params: { finding: 'BAD_IDENTIFIER' },
    error: 'must be index:ID, identifier:ID or only an id, of 1 to 64 characters without control characters or /',
  })
  .meta({
    minLength: 1,
    maxLength: 75,
    example: 'identifier:SPX',
    description:
      'Benchmark: `index:ID`, which is run from its definition, or `identifier:ID`, a security or series of the data. An id without a prefix is an index if one is stored under it, otherwise an identifier.',
  });

/** Benchmark to which a text refers; the kind is null if the text does not state it. */
export interface NamedBenchmark {
  readonly kind: BenchmarkRef['kind'] | null;
  readonly id: string;
}

export function parseBenchmark(text: string): NamedBenchmark {
  const kind = KINDS.find((each) => text.startsWith(`${each}:`)) ?? null;
  return { kind, id: kind === null ? text : text.slice(kind.length + 1) };
}
