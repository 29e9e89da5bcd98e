import type { Finding } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentKind, DocumentTransaction } from '#store/port.js';

/** Checks that a body has no id, or the same id as its path. @throws Refusal ID_MISMATCH */
export function assertIdOfPath(inPath: string, body: Readonly<Record<string, unknown>>, field = 'id'): void {
  const id = body[field];
  if (typeof id !== 'string' || id === inPath) return;
  const message = `The ${field} ${id} in the body is not the id ${inPath} in the path.`;
  throw new Refusal('ID_MISMATCH', message, {
    findings: [{ severity: 'error', code: 'ID_MISMATCH', path: field, message, value: id }],
  });
}

/** States that a new document has the id of a stored one. @param noun noun of such a document with its article */
export const formatTakenId = (noun: string, id: string): string =>
  `${noun} is already stored under the id ${id}. Choose another id, or replace the ${noun.replace(/^An? /, '')}.`;

/**
 * Returns a finding if a document of the same kind already has the id of a new document. @param name noun of such a
 * document
 */
export async function listTakenIdFindings(
  tx: Pick<DocumentTransaction, 'get'>,
  { kind, name, id }: { readonly kind: DocumentKind; readonly name: string; readonly id: unknown },
): Promise<readonly Finding[]> {
  if (typeof id !== 'string' || (await tx.get(kind, id)) === undefined) return [];
  const message = formatTakenId(name, id);
  return [{ severity: 'error', code: 'DUPLICATE_ID', path: 'id', message, value: id }];
}
