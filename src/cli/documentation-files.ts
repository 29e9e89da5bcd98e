import { existsSync, readFileSync } from 'node:fs';
import { API } from '#contract/api.js';
import type { ExampleAnswers } from '#contract/examples.js';
import { openApiDocument } from '#contract/openapi.js';
import type { DocumentationSources } from '#http/routes/documentation.js';
import type { GuidePage } from '#views/documentation/guide-page.js';
import { engineVersion, PACKAGE_ROOT } from './version.js';

/** The documentation of this package: the contract with answers, the guide, and both in the codings that the build has made. */
export function documentationSources(): DocumentationSources {
  return {
    openApi: () => openApiDocument(API, engineVersion(), readAnswers()),
    guide: readGuide,
    coded(etag, coding) {
      // Named by the bytes that were coded: a build of other pages is never taken for this one.
      const file = new URL(`dist/documentation/${etag}.${coding}`, PACKAGE_ROOT);
      return existsSync(file) ? new Uint8Array(readFileSync(file)) : undefined;
    },
  };
}

/** What a service answered to the examples of its operations, as it ships. */
function readAnswers(): ExampleAnswers {
  return JSON.parse(readFileSync(new URL('data/answers.json', PACKAGE_ROOT), 'utf8')) as ExampleAnswers;
}

/** The guide as the build made it from `data/guide`; empty where only the sources were compiled. */
function readGuide(): readonly GuidePage[] {
  const file = new URL('dist/guide.json', PACKAGE_ROOT);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly GuidePage[]) : [];
}
