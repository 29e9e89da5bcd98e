import { z } from 'zod';
import { FULL_RUN_REASON_NAMES } from '#domain/documents/full-run-reasons.js';
import { Finding } from '../common.js';

export const provenance = {
  findings: z.array(Finding).meta({ description: 'Warnings of the run.' }),
  run_hash: z.string().meta({
    description:
      'SHA-256 of the engine version, the definitions, the request, and the content and declarations (price basis, currency) of the store. Equal hashes mean equal results.',
  }),
  store_content_hash: z.string(),
  engine_version: z.string(),
  extended_from: z.string().nullable().meta({
    description:
      'Last date of the stored run that this run extends; its numbers equal those of a full run. Null for a full run.',
  }),
  full_run_reason: z.enum(FULL_RUN_REASON_NAMES).nullable().meta({
    description:
      'Reason why a stored run was not extended. Null if it was extended, or if there was no stored run. Runs stored by earlier builds have `parted` for `holdings_diverged` and `rewritten` for `file_rewritten`.',
  }),
};
