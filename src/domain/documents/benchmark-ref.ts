import { z } from 'zod';
import { isAssetIdentifier } from '../schema/shape.js';

const KINDS = ['index', 'identifier'] as const;

/** Benchmark of a run besides the tracked index. */
export const BenchmarkRef = z
  .strictObject({
    id: z.string().min(1).max(64),
    kind: z.enum(KINDS),
    price_column: z.string().min(1).max(64).default('CLOSE'),
  })
  .meta({ id: 'BenchmarkRef' });
export type BenchmarkRef = z.infer<typeof BenchmarkRef>;

/** A benchmark by one text, wherever one is named. */
export const BenchmarkName = z
  .string()
  .refine((text) => isAssetIdentifier(benchmarkNamed(text).id), {
    params: { finding: 'BAD_IDENTIFIER' },
    error: 'must be index:ID, identifier:ID or an id alone, of 1 to 64 characters without control characters or /',
  })
  .meta({
    minLength: 1,
    maxLength: 75,
    example: 'identifier:SPX',
    description:
      'Benchmark: `index:ID`, run from its definition, or `identifier:ID`, one name or one series of the served store. An id alone is an index where one is stored under it, else an identifier.',
  });

/** What the text of a benchmark names; null where it does not say of which kind it is. */
export interface NamedBenchmark {
  readonly kind: BenchmarkRef['kind'] | null;
  readonly id: string;
}

export function benchmarkNamed(text: string): NamedBenchmark {
  const kind = KINDS.find((each) => text.startsWith(`${each}:`)) ?? null;
  return { kind, id: kind === null ? text : text.slice(kind.length + 1) };
}
