import { readFileSync } from 'node:fs';
import { API } from '#contract/api.js';
import { createOpenApiDocument } from '#contract/openapi.js';
import { ERRORS } from '#domain/base/refusals.js';
import { formatPythonAsync } from './python-async.js';
import { formatPythonErrors } from './python-errors.js';
import { formatPythonOperations } from './python-operations.js';
import { formatPythonTypes } from './python-types.js';
import { formatTypescriptSource } from './typescript-source.js';

const PYTHON = 'src/clients/python/divisor';

/** Returns the client files that are generated from the contract, by path. */
export function generateClientSources(): Readonly<Record<string, string>> {
  const document = createOpenApiDocument(API, '');
  const api = formatPythonOperations(document);
  const [client, views, batches] = ['client', 'views', 'batches'].map((name) =>
    readFileSync(`${PYTHON}/${name}.py`, 'utf8'),
  );
  return {
    'src/clients/typescript/contract.ts': formatTypescriptSource(document),
    [`${PYTHON}/contract.py`]: formatPythonTypes(document),
    [`${PYTHON}/api.py`]: api,
    [`${PYTHON}/aio.pyi`]: formatPythonAsync({ client: client!, api, views: views!, batches: batches! }),
    [`${PYTHON}/codes.py`]: formatPythonErrors(ERRORS),
    [`${PYTHON}/version.py`]: readPythonVersion(),
  };
}

function readPythonVersion(): string {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  return `# Written from package.json by \`npm run build\`.\nVERSION = "${version}"\n`;
}
