import { z } from 'zod';

/** Benchmark of a run besides the tracked index. */
export const BenchmarkRef = z
  .strictObject({
    id: z.string().min(1).max(64),
    kind: z.enum(['index', 'identifier']),
    price_column: z.string().min(1).max(64).default('CLOSE'),
  })
  .meta({ id: 'BenchmarkRef' });
export type BenchmarkRef = z.infer<typeof BenchmarkRef>;
