import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { deserialize } from 'node:v8';
import { Refusal } from '#domain/refusals/refusal.js';
import type { OutcomeSource } from '#domain/sweeps/outcome-source.js';
import { orderSweepParts } from '#domain/sweeps/part-order.js';
import type { VariantOutcome } from '#domain/sweeps/run-variants.js';
import { countVariants, type Variation } from '#domain/sweeps/variants.js';
import type { OutcomesFile } from '#jobs/tasks/runs.js';

/**
 * Reads outcomes from the files of the parts, with one file at a time in memory. Each file is compared with its hash
 * once.
 */
export function openOutcomes(files: readonly OutcomesFile[], variation: Variation): OutcomeSource {
  const parts = orderSweepParts(variation);
  const count = countVariants(variation);
  const variantsByFile = files.map((file) => file.parts.flatMap((part) => parts.variants(part)));
  const checkedFiles = new Set<OutcomesFile>();

  function readOutcomes(file: OutcomesFile): readonly VariantOutcome[] {
    const bytes = readFileSync(file.path);
    if (!checkedFiles.has(file) && createHash('sha256').update(bytes).digest('hex') !== file.sha256)
      throw new Refusal('DOCUMENT_UNREADABLE', 'Outcomes of some variants are damaged: run the sweep again.');
    checkedFiles.add(file);
    return deserialize(bytes) as readonly VariantOutcome[]; // the parts wrote these outcomes
  }

  return {
    count,
    visit(call, wanted) {
      const isDone = new Uint8Array(count);
      for (const [i, file] of files.entries()) {
        const variants = variantsByFile[i]!;
        const isDue = (variant: number): boolean => isDone[variant] === 0 && (wanted?.has(variant) ?? true);
        if (!variants.some(isDue)) continue;
        for (const [position, outcome] of readOutcomes(file).entries()) {
          const variant = variants[position]!;
          if (isDue(variant)) call(variant, outcome);
          isDone[variant] = 1;
        }
      }
    },
    keyOf: ({ days, level }) => createHash('sha256').update(days).update(level).digest('base64'),
  };
}
