import { formatDocumentation, formatPascal } from './python-types.js';

/**
 * Returns the Python source of the error codes. Each code has an exception class, so that a program can catch a
 * specific error.
 */
export function formatPythonErrors(codes: Readonly<Record<string, { readonly help: string }>>): string {
  const classes = Object.entries(codes).map(
    ([code, { help }]) => `class ${formatClassName(code)}(DivisorError):\n    """${formatDocumentation(help)}"""\n`,
  );
  const names = Object.keys(codes).map((code) => `    "${code}": ${formatClassName(code)},\n`);
  return `# Written from the catalogue of error codes by \`npm run build\`.
"""An exception for every error code of the service."""

from __future__ import annotations

from typing import Dict, Type

from .errors import DivisorError

${classes.join('\n\n')}

#: The exception of every code.
BY_CODE: Dict[str, Type[DivisorError]] = {
${names.join('')}}
`;
}

const formatClassName = (code: string) => formatPascal(code.toLowerCase());
