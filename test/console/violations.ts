import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

/** Source of axe-core, which checks WCAG 2.2 AA and its own best practices. */
export const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Rules that axe-core does not check by default. */
const OPTIONAL_RULES = { 'label-content-name-mismatch': { enabled: true } };

interface ViolationOptions {
  /** Rules to check. Default: all rules. */
  readonly rules?: readonly string[];
  /** Selectors of elements that are not checked. */
  readonly excludedSelectors?: readonly string[];
}

/** Returns the findings of axe-core, which the page has loaded, one per line. */
export async function listViolations(
  page: Page,
  { rules, excludedSelectors = [] }: ViolationOptions = {},
): Promise<readonly string[]> {
  const contextJson = JSON.stringify({ exclude: excludedSelectors });
  // Sounds and style sheets are not preloaded: the pages have no sounds, and none of the requested rules reads style
  // sheets.
  const request = {
    resultTypes: ['violations'],
    preload: false,
    ...(rules === undefined ? { rules: OPTIONAL_RULES } : { runOnly: rules }),
  };
  return page.evaluate(`axe.run(${contextJson}, ${JSON.stringify(request)}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ': ' + target.join(' ') + ' ' + failureSummary)))`);
}

/** Rules about the names of elements, and about links that only their colour marks. */
const NAME_RULES = ['link-in-text-block', 'landmark-unique', 'label-content-name-mismatch'];

/** Returns the findings of axe-core about names and links of a page, one per line. */
export async function listNameViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return listViolations(page, { rules: NAME_RULES });
}
