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

/**
 * Returns a finding if a document of the same kind already has the id of a new document. @param name noun of such a
 * document
 */
export async function listTakenIdFindings(
  tx: Pick<DocumentTransaction, 'get'>,
  { kind, name, id }: { readonly kind: DocumentKind; readonly name: string; readonly id: unknown },
): Promise<readonly Finding[]> {
  if (typeof id !== 'string' || (await tx.get(kind, id)) === undefined) return [];
  const message = `${name} is already stored under the id ${id}; replacing it is done with PUT.`;
  return [{ severity: 'error', code: 'DUPLICATE_ID', path: 'id', message, value: id }];
}
