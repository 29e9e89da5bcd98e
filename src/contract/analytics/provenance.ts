import { z } from 'zod';
import { FULL_RUN_REASON_NAMES } from '#domain/documents/full-run-reasons.js';
import { Finding } from '../common.js';

export const provenance = {
  findings: z.array(Finding).meta({ description: 'Warnings of the run.' }),
  run_hash: z.string().meta({
    description:
      'SHA-256 over engine version, definitions, request, store content and what the store declares of it (price basis, currency): equal hashes, equal results.',
  }),
  store_content_hash: z.string(),
  engine_version: z.string(),
  extended_from: z.string().nullable().meta({
    description:
      'Last date of the stored run that this one extends; the same numbers as running the whole. Null for a run made whole.',
  }),
  full_run_reason: z.enum(FULL_RUN_REASON_NAMES).nullable().meta({
    description:
      'Why a stored run was not extended; null when it was, or nothing was stored. Runs stored by earlier builds have `parted` for `holdings_diverged` and `rewritten` for `file_rewritten`.',
  }),
};
