import { compareText } from '../refusals/findings.js';
import type { AliasFile, CalendarIndex, RuleFile } from './rule-file.js';

/**
 * Builds the index of a calendar folder: one entry per rule file and per alias, in code order.
 * @throws Error if a code occurs twice or an alias uses a code without rules
 */
export function indexCalendars(files: readonly RuleFile[], aliases: AliasFile): CalendarIndex {
  const byCode = new Map(files.map((file) => [file.code, file]));
  const ruleEntries = files.map(({ code, name, tz, coverage, sources }) => ({
    code,
    name,
    tz,
    rules: code,
    coverage,
    sources,
  }));
  const aliasEntries = aliases.map(({ code, name, uses }) => {
    const rules = byCode.get(uses);
    if (rules === undefined) throw new Error(`the alias ${code} uses ${uses}, which has no rule file`);
    return { code, name, tz: rules.tz, rules: uses, coverage: rules.coverage, sources: rules.sources };
  });
  const index = [...ruleEntries, ...aliasEntries].sort((a, b) => compareText(a.code, b.code));
  const duplicateEntry = index.find((entry, i) => entry.code === index[i + 1]?.code);
  if (duplicateEntry !== undefined) throw new Error(`the code ${duplicateEntry.code} occurs twice`);
  return index;
}
