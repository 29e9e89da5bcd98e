// Makes the documentation at build: dist/documentation holds each page and the contract in every coding, named by its etag,
// and says which of them are the contract and its reference. A page whose bytes have not changed is not compressed again.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { createDocumentationHandlers } from '../../dist/src/http/pages.js';
import { openDocumentationSources } from '../../dist/src/cli/compose/package-files.js';

const folder = new URL('../../dist/documentation/', import.meta.url);
mkdirSync(folder, { recursive: true });

const sources = openDocumentationSources();
const handlers = createDocumentationHandlers({ ...sources, built: () => undefined, coded: () => undefined });
const as = (params) => ({ params, header: () => undefined });
const contract = handlers.getOpenApi(as({}));
const reference = handlers.getDocumentation(as({}));
const replies = [
  contract,
  reference,
  ...sources
    .guide()
    .map(({ name }) => (name === '' ? handlers.getGuide(as({})) : handlers.getGuidePage(as({ page: name })))),
];

const identities = new Set([contract.etag, reference.etag]);
const [brotliOf, gzipOf] = [promisify(brotliCompress), promisify(gzip)];
const brotli = (bytes) => {
  const params = {
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_QUALITY]: 10,
    [constants.BROTLI_PARAM_LGWIN]: 22,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return brotliOf(bytes, { params });
};
const codings = { br: brotli, gzip: (bytes) => gzipOf(bytes, { level: 9 }), identity: (bytes) => bytes };

/** Named by its content, so that an existing file is current. */
const files = replies.flatMap(({ bytes, etag }) =>
  Object.entries(codings)
    .filter(([coding]) => coding !== 'identity' || identities.has(etag))
    .map(([coding, code]) => ({ name: `${etag}.${coding}`, make: () => code(bytes) })),
);
const names = new Set(files.map(({ name }) => name));
for (const name of readdirSync(folder)) if (!names.has(name)) rmSync(new URL(name, folder));
// Side by side, on every core.
await Promise.all(
  files
    .filter(({ name }) => !existsSync(new URL(name, folder)))
    .map(async ({ name, make }) => writeWhole(name, await make())),
);
writeWhole('built.json', JSON.stringify({ contract: contract.etag, reference: reference.etag }));

/** A build that is ended half-way leaves no half a file behind. */
function writeWhole(name, bytes) {
  writeFileSync(new URL(`${name}.part`, folder), bytes);
  renameSync(new URL(`${name}.part`, folder), new URL(name, folder));
}
