import { existsSync, readFileSync } from 'node:fs';
import type { ExampleAnswers } from '#contract/examples.js';
import type { GuidePage } from '#views/documentation/guide-page.js';
import { PACKAGE_ROOT } from './version.js';

/** What a service answered to the examples of its operations, as it ships. */
export function readAnswers(): ExampleAnswers {
  return JSON.parse(readFileSync(new URL('data/answers.json', PACKAGE_ROOT), 'utf8')) as ExampleAnswers;
}

/** The guide as the build made it from `data/guide`; empty where only the sources were compiled. */
export function readGuide(): readonly GuidePage[] {
  const file = new URL('dist/guide.json', PACKAGE_ROOT);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly GuidePage[]) : [];
}
