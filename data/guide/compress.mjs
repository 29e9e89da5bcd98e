// Makes the documentation at build: dist/documentation holds each page and the contract in every coding, named by its etag,
// and says which of them are the contract and its reference.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { documentationHandlers } from '../../dist/src/http/routes/documentation.js';
import { documentationSources } from '../../dist/src/cli/documentation-files.js';

const folder = new URL('../../dist/documentation/', import.meta.url);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const sources = documentationSources();
const handlers = documentationHandlers({ ...sources, built: () => undefined, coded: () => undefined });
const as = (params) => ({ params, header: () => undefined });
const contract = handlers.getOpenApi(as({}));
const reference = handlers.getDocumentation(as({}));
const replies = [contract, reference, ...sources.guide().map(({ name }) => (name === '' ? handlers.getGuide(as({})) : handlers.getGuidePage(as({ page: name }))))];

for (const { bytes, etag } of replies) {
  const params = { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT, [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_LGWIN]: 22, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(new URL(`${etag}.br`, folder), brotliCompressSync(bytes, { params }));
  writeFileSync(new URL(`${etag}.gzip`, folder), gzipSync(bytes, { level: 9 }));
}

for (const { bytes, etag } of [contract, reference]) writeFileSync(new URL(`${etag}.identity`, folder), bytes);
writeFileSync(new URL('built.json', folder), JSON.stringify({ contract: contract.etag, reference: reference.etag }));
