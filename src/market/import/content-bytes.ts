import { refuseWithFindings } from '#domain/refusals/refusal.js';

const BASE64_TEXT = /^[A-Za-z0-9+/\s]*={0,2}$/;

/** Decodes the base64 content of a file. CSV may also be sent as plain text. @throws Refusal VALIDATION_FAILED */
export function decodeContent(content: string, format: string): Uint8Array {
  if (BASE64_TEXT.test(content.trimEnd())) return Buffer.from(content, 'base64');
  if (format === 'csv') return Buffer.from(content, 'utf8');
  throw refuseWithFindings('request', [
    { severity: 'error', code: 'WRONG_TYPE', message: 'content is not base64.', path: 'content' },
  ]);
}
