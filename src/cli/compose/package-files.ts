import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { API } from '#contract/api.js';
import { createOpenApiDocument, type ExampleResponses } from '#contract/openapi.js';
import { MethodologyTemplate } from '#domain/definition/methodology-templates.js';
import { CODINGS } from '#http/handler.js';
import type { BuiltDocument, ConsoleFile, ConsoleFiles, DocumentationSources, VerifyFiles } from '#http/pages.js';
import type { GuidePage } from '#views/documentation/reference.js';
import { PACKAGE_ROOT, readEngineVersion } from '../version.js';

const CONSOLE_FOLDER = new URL('dist/console/', PACKAGE_ROOT);

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * Opens the console of this package. Each file is read at its first request and then cached.
 * @cost less than 5 MB once all files are read
 */
export function openConsoleFiles(): ConsoleFiles {
  const assets = new URL('assets/', CONSOLE_FOLDER);
  const names = new Set(existsSync(assets) ? readdirSync(assets).filter((name) => extname(name) in MEDIA_TYPES) : []);
  const filesByPath = new Map<string, ConsoleFile>();
  return {
    page: () => read(new URL('index.html', CONSOLE_FOLDER), filesByPath),
    asset: (name) => (names.has(name) ? read(new URL(name, assets), filesByPath) : undefined),
  };
}

/** Files of the page `/verify` by their names on that page. */
const VERIFY_FILES: Readonly<Record<string, string>> = {
  'index.html': 'data/verify/index.html',
  'page.js': 'data/verify/page.js',
  'page.css': 'data/verify/page.css',
  'worker.js': 'dist/engine/verify-worker.js',
};

/** Opens the page that verifies published indices. Each file is read at its first request and then cached. */
export function openVerifyFiles(): VerifyFiles {
  const filesByPath = new Map<string, ConsoleFile>();
  return (name) =>
    Object.hasOwn(VERIFY_FILES, name) ? read(new URL(VERIFY_FILES[name]!, PACKAGE_ROOT), filesByPath) : undefined;
}

function read(file: URL, filesByPath: Map<string, ConsoleFile>): ConsoleFile | undefined {
  const entry = filesByPath.get(file.href);
  if (entry !== undefined) return entry;
  if (!existsSync(file)) return undefined;
  const bytes = new Uint8Array(readFileSync(file));
  const encodings = CODINGS.flatMap((coding) => {
    const encodedFile = new URL(`${file.href}.${coding}`);
    return existsSync(encodedFile) ? [[coding, new Uint8Array(readFileSync(encodedFile))] as const] : [];
  });
  const consoleFile: ConsoleFile = {
    type: MEDIA_TYPES[extname(file.pathname)]!,
    etag: createHash('sha256').update(bytes).digest('hex'),
    bytes,
    coded: Object.fromEntries(encodings),
  };
  filesByPath.set(file.href, consoleFile);
  return consoleFile;
}

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
  'dist/answers.json',
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

/** Reads the example responses that the build recorded. Returns none if they have not been recorded. */
function readExampleResponses(): ExampleResponses {
  const file = new URL('dist/answers.json', PACKAGE_ROOT);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ExampleResponses) : {};
}

/** Reads the guide that the build rendered from `data/guide`. Returns no pages if the sources were only compiled. */
function readGuide(): readonly GuidePage[] {
  const file = new URL('dist/guide.json', PACKAGE_ROOT);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly GuidePage[]) : [];
}

const FOLDER = new URL('data/methodologies/', PACKAGE_ROOT);

/**
 * Reads the published methodologies of this package, by id.
 * @throws Error if a file is not a template, or if its name differs from its id
 */
export function readMethodologies(): readonly MethodologyTemplate[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
  const templates = files.map((file) => {
    const { data, error } = MethodologyTemplate.safeParse(JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')));
    if (data === undefined) throw new Error(`data/methodologies/${file} is no template`, { cause: error });
    if (`${data.id}.json` !== file) throw new Error(`data/methodologies/${file} has the id ${data.id}`);
    return data;
  });
  return templates.sort((a, b) => (a.id < b.id ? -1 : 1));
}
