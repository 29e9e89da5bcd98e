import type { Finding } from '../refusals/findings.js';
import { Refusal, refuseWithFindings } from '../refusals/refusal.js';
import { createPatch, countVariants, type Patch, type Variation } from './variants.js';

/** Maximum number of distinct findings listed. Further findings are only counted. */
const FINDINGS_MAX = 100;
/** Maximum number of variants listed as locations of a finding. `count` counts all. */
const LOCATIONS_MAX = 100;
/** Maximum number of variants listed in the message; `detail.variants` lists all. */
const NAMED_MAX = 10;
/** Maximum length of a value in the name of a variant. */
const VALUE_MAX = 60;

/** Findings about the refused variants of a sweep. */
export interface RefusedVariants {
  /** Adds a variant. @param findings errors, with paths below the variant */
  add(variant: number, findings: readonly Finding[]): void;
  /** Throws if any variant was refused. @throws Refusal VALIDATION_FAILED with every refused variant */
  assertNone(): void;
}

/** Finding of the first affected variant, and all affected variants. */
interface SharedFinding {
  readonly finding: Finding;
  readonly variants: number[];
}

export function createRefusedVariants(variation: Variation): RefusedVariants {
  const member = variation.patches === null ? 'grid' : 'patches';
  const findingByKey = new Map<string, SharedFinding>();
  const refusals = new Set<number>();
  let unlistedCount = 0;
  return {
    add(variant, findings) {
      for (const finding of findings) {
        refusals.add(variant);
        const key = JSON.stringify([finding.code, finding.path, finding.message]);
        const sharedEntry = findingByKey.get(key);
        if (sharedEntry !== undefined) sharedEntry.variants.push(variant);
        else if (findingByKey.size < FINDINGS_MAX) findingByKey.set(key, { finding, variants: [variant] });
        else unlistedCount++;
      }
    },
    assertNone() {
      if (refusals.size === 0) return;
      const findings = [...findingByKey.values()].map((one) => toSent(one, member, variation));
      const all = unlistedCount === 0 ? findings : [...findings, createMoreFinding(member, unlistedCount)];
      const { code, message, detail } = refuseWithFindings('sweep', all);
      const variants = [...refusals];
      const reportText = `${message.slice(0, -1)}: ${formatVariants(variants)} of ${countVariants(variation)} ${variants.length === 1 ? 'is' : 'are'} refused.`;
      throw new Refusal(code, reportText, { ...detail, variants });
    },
  };
}

/** Returns a finding for clients, with the name of the first affected variant and the locations of all. */
function toSent({ finding, variants }: SharedFinding, member: string, variation: Variation): Finding {
  const [first] = variants as [number, ...number[]]; // the finding occurred at least once
  const otherCount = variants.length - 1;
  const otherPhrase = otherCount === 0 ? '' : ` and ${otherCount} more`;
  const locations = variants.slice(0, LOCATIONS_MAX).map((variant) => `${member}[${variant}]`);
  return {
    ...finding,
    path: `${member}[${first}]${finding.path}`,
    message: `Variant ${first} (${formatVariantName(createPatch(variation, first))})${otherPhrase}: ${finding.message}`,
    ...(otherCount === 0 ? {} : { count: variants.length, places: locations }),
  };
}

const createMoreFinding = (path: string, count: number): Finding => ({
  severity: 'error',
  code: 'MORE_FINDINGS',
  path,
  message: `${count} further errors are not listed.`,
  count,
});

/** Describes the changes of a variant, for example `/document/overlay/factor 0`. */
export function formatVariantName(patch: Patch): string {
  const assignments = Object.entries(patch).map(
    ([pointer, value]) => `${pointer} ${shortenText(JSON.stringify(value) ?? '')}`,
  );
  return assignments.length === 0 ? 'the base' : assignments.join(', ');
}

const shortenText = (text: string): string => (text.length <= VALUE_MAX ? text : `${text.slice(0, VALUE_MAX - 3)}...`);

/** Returns a list of variants in words: `variant 3`, or `variants 0, 3 and 7`. */
function formatVariants(variants: readonly number[]): string {
  const namedVariants = variants.slice(0, NAMED_MAX).map(String);
  const restCount = variants.length - namedVariants.length;
  if (restCount > 0) return `variants ${namedVariants.join(', ')} and ${restCount} more`;
  return namedVariants.length === 1
    ? `variant ${namedVariants[0]}`
    : `variants ${namedVariants.slice(0, -1).join(', ')} and ${namedVariants.at(-1)}`;
}
