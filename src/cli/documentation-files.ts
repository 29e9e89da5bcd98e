import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { API } from '#contract/api.js';
import type { ExampleResponses } from '#contract/examples.js';
import { createOpenApiDocument } from '#contract/openapi.js';
import type { BuiltDocument, DocumentationSources } from '#http/routes/documentation.js';
import type { GuidePage } from '#views/documentation/guide-page.js';
import { readEngineVersion, PACKAGE_ROOT } from './version.js';

/**
 * Opens the documentation of this package: the contract with example responses, the guide, and the compressed forms
 * that the build wrote.
 */
export function openDocumentationSources(): DocumentationSources {
  return {
    openApi: () => createOpenApiDocument(API, readEngineVersion(), readExampleResponses()),
    guide: readGuide,
    written: (name) => readFileSync(new URL(`${name === '' ? 'README' : name}.md`, GUIDE), 'utf8'),
    picture(name) {
      const file = new URL(`${name}.webp`, PICTURES);
      return existsSync(file) ? new Uint8Array(readFileSync(file)) : undefined;
    },
    built(builtDocument) {
      const etags = readEtags();
      if (etags === undefined) return undefined;
      const file = new URL(`${etags[builtDocument]}.identity`, BUILT_FOLDER);
      return existsSync(file) ? { bytes: new Uint8Array(readFileSync(file)), etag: etags[builtDocument] } : undefined;
    },
    coded(etag, coding) {
      // The file name contains the hash of the content, so it cannot be the file of another build.
      const file = new URL(`${etag}.${coding}`, BUILT_FOLDER);
      return existsSync(file) ? new Uint8Array(readFileSync(file)) : undefined;
    },
  };
}

const BUILT_FOLDER = new URL('dist/documentation/', PACKAGE_ROOT);
const GUIDE = new URL('data/guide/', PACKAGE_ROOT);
const PICTURES = new URL('pictures/', GUIDE);

/** Folders from which the contract, its reference and the guide are rendered. */
const SOURCE_FOLDERS = [
  'dist/src/contract',
  'dist/src/domain',
  'dist/src/views/documentation',
  'dist/guide.json',
  'data/answers.json',
];

/**
 * Returns the hashes of the documents in the build. Returns undefined if a source was compiled later: the build then
 * contains an old contract.
 */
function readEtags(): Readonly<Record<BuiltDocument, string>> | undefined {
  const file = new URL('built.json', BUILT_FOLDER);
  if (!existsSync(file)) return undefined;
  const builtAt = statSync(file).mtimeMs;
  if (SOURCE_FOLDERS.some((path) => findNewestChange(fileURLToPath(new URL(path, PACKAGE_ROOT))) > builtAt))
    return undefined;
  return JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<BuiltDocument, string>>;
}

/**
 * Returns the latest modification time of a file or of the files in a folder, in ms since 1970. Returns 0 if nothing
 * exists.
 * @cost a stat per file
 */
export function findNewestChange(path: string): number {
  if (!existsSync(path)) return 0;
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => findNewestChange(join(path, name))));
}

/** Reads the example answers of the operations. */
function readExampleResponses(): ExampleResponses {
  return JSON.parse(readFileSync(new URL('data/answers.json', PACKAGE_ROOT), 'utf8')) as ExampleResponses;
}

/** Reads the guide that the build rendered from `data/guide`. Returns no pages if the sources were only compiled. */
function readGuide(): readonly GuidePage[] {
  const file = new URL('dist/guide.json', PACKAGE_ROOT);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly GuidePage[]) : [];
}
